# The component Pay.
from decisions import with_decision

shipped = get_data_input("shipped")["json"]["shipped"]
set_data_output("decisions", with_decision({"refund": True, "shipped": shipped}))

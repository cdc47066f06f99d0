# The component Refuse.
from decisions import with_decision

set_data_output("decisions", with_decision({"refund": False}))

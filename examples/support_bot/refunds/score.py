# The component Score: how careful to be, from 0 to 100.
order = get_data_input("order")["json"]
set_data_output("score", create_value("integer", min(100, order["amount"] // 10)))

# The component Prepare: what the next components are asked about this order.
order = get_data_input("order")["json"]
shop = get_data_input("shop")["text"]
set_data_output("url", create_value("text", f"{shop}/orders/{order['id']}"))
set_data_output("question", create_value("text", f"Refund {order['amount']} for order {order['id']}?"))

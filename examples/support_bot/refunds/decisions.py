# How a decision is added to those of the orders before.
def with_decision(decision):
    order = get_data_input("order")["json"]
    return create_value("json", get_data_input("decisions")["json"] + [{"order": order["id"], **decision}])

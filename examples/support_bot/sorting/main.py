# The component Sort: tickets by what they are about.
from rules import topic_of

by_topic = {}
for ticket in get_data_input("tickets")["json"]:
    by_topic.setdefault(topic_of(ticket), []).append(ticket)
set_data_output("sorted", create_value("json", by_topic))
post_output_event(f"{len(by_topic)} topics")

# Which words make a ticket belong where; the first topic that fits wins.
TOPICS = {"refund": ["refund", "money back"], "delivery": ["order", "parcel", "late"]}


def topic_of(ticket):
    text = ticket.lower()
    for topic, words in TOPICS.items():
        if any(word in text for word in words):
            return topic
    return "other"

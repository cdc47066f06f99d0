"""uvicorn's protocol with an end to a request's head: line and headers, which come before any key is looked at.

Its parser keeps an unfinished header for as long as bytes of it come, so that one connection could fill the memory.
"""

from turnbuckle.http.one_write import OneWriteProtocol
from turnbuckle.wire.limits import HEAD_BYTES


class BoundedHeadProtocol(OneWriteProtocol):
    _is_in_head = False
    _head_bytes = 0

    def data_received(self, data: bytes) -> None:
        """Closes the connection with a 400 when the head goes on beyond HEAD_BYTES and what was read with its start."""
        was_in_head = self._is_in_head
        super().data_received(data)
        if not (was_in_head and self._is_in_head):
            return
        self._head_bytes += len(data)
        if self._head_bytes > HEAD_BYTES:
            self._is_in_head = False
            self.logger.warning("The head of a request is too large.")
            self.send_400_response(f"The request's line and headers have more than {HEAD_BYTES} bytes.")

    def on_message_begin(self) -> None:
        self._is_in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        super().on_headers_complete()

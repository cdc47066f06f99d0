"""Run a definition that is already deployed, follow the run to its end, read what it did (blobhub 4.8 to 4.10).

`reference` and `input_data` check the arguments, `session` finds or makes the session, `event_tail` passes each event
once, `execution` is the run.
"""

from blobhub.types.workflow.execution import Execution
from blobhub.types.workflow.workflow import Workflow

__all__ = ["Execution", "Workflow"]

"""The base of the generated models in `lbb.models`."""

from pydantic import BaseModel, ConfigDict


class WireModel(BaseModel):
    """Unknown fields are ignored, so an older client reads a newer server. Fields go by their Python or wire name."""

    model_config = ConfigDict(
        extra="ignore",
        populate_by_name=True,
        protected_namespaces=(),
        defer_build=True,  # a program pays for the models it uses, not for all at import
    )

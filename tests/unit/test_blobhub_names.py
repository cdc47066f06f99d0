"""What `blobhub` exports (blobhub 4.1, 4.7)."""

import importlib
import pickle

import httpx
import pytest

import blobhub
import blobhub.errors
import blobhub.types
import blobhub.types.workflow
from blobhub import BlobHubError, TypeMismatch, WaitTimeout
from blobhub.types import registered, resolve
from blobhub.types.workflow import Workflow
from tests.unit.blobhub_scripted import REVISION, Script, blob_of, client_of, revision_of

ERRORS = {
    "BlobHubError", "AuthError", "PermissionDenied", "NotFound", "Conflict", "RateLimited", "ServerError",
    "NetworkError", "RequestNotSent", "CommandError", "ConfigError", "TypeMismatch", "OperationFailed", "WaitTimeout",
}  # fmt: skip


def test_blobhub_exports_exactly_these_names() -> None:
    others = {"connect", "Client", "Identity", "Blob", "Revision", "Operation", "__version__"}

    assert set(blobhub.__all__) == ERRORS | others
    assert all(hasattr(blobhub, name) for name in blobhub.__all__)
    assert set(blobhub.types.__all__) == {"TypedModule", "registered", "resolve"}
    assert set(blobhub.types.workflow.__all__) == {"Workflow", "Execution"}


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_each_error_is_of_one_tree(name: str) -> None:
    cls = getattr(blobhub.errors, name)

    assert cls is getattr(blobhub, name)
    assert issubclass(cls, BlobHubError)


def test_errors_are_grouped_by_what_the_caller_can_do() -> None:
    assert issubclass(blobhub.RequestNotSent, blobhub.NetworkError)
    assert issubclass(WaitTimeout, TimeoutError)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (BlobHubError("not_found", "No such thing", 404), "No such thing (not_found, HTTP 404)"),
        (BlobHubError("wait_timeout", "Too long"), "Too long (wait_timeout)"),
        (BlobHubError("alias_in_use", "", 400), "alias_in_use (alias_in_use, HTTP 400)"),
    ],
)
def test_the_text_has_message_code_and_status(error: BlobHubError, text: str) -> None:
    assert str(error) == text


@pytest.mark.parametrize("cls", [blobhub.RateLimited, WaitTimeout])
def test_an_error_survives_a_process_pool(cls: type[BlobHubError]) -> None:
    error = cls("busy", "later", 429, retry_after=3.0, details=[{"content": "x"}])

    copy = pickle.loads(pickle.dumps(error))

    assert (type(copy), str(copy), copy.retry_after, copy.details) == (cls, str(error), 3.0, [{"content": "x"}])


def test_the_registry_gives_a_copy() -> None:
    registered().clear()

    assert registered() == {"blobhub.compute.workflow": ("blobhub.types.workflow", "Workflow")}


def test_each_registered_class_is_for_its_type() -> None:
    for blob_type, (module, name) in registered().items():
        cls = resolve(blob_type)

        assert cls is getattr(importlib.import_module(module), name)
        assert cls is not None
        assert blob_type == cls.TYPE


def test_an_unknown_type_has_no_module() -> None:
    assert resolve("blobhub.compute.other") is None


def test_a_revision_gives_its_typed_module() -> None:
    module = revision_of(client_of(Script())).typed()

    assert isinstance(module, Workflow)


def test_a_revision_of_an_unknown_type_gives_itself() -> None:
    revision = blobhub.Revision(blob_of(client_of(Script()), type="x.y"), {"id": REVISION})

    assert revision.typed() is revision


def test_a_typed_module_refuses_a_blob_of_another_type() -> None:
    revision = blobhub.Revision(blob_of(client_of(Script()), type="blobhub.model.onnx"), {"id": REVISION})

    with pytest.raises(TypeMismatch) as caught:
        Workflow(revision)

    assert (caught.value.error, caught.value.status) == ("type_mismatch", None)


def test_requests_name_sdk_python_and_httpx() -> None:
    script = Script()

    client_of(script).request("GET", "x")

    products = [token.partition("/")[0] for token in script.request.headers["user-agent"].split()]
    assert products == ["turnbuckle-blobhub", "python", "httpx"]
    assert script.request.headers["user-agent"].endswith(f"httpx/{httpx.__version__}")

"""From storage settings to what an S3 client takes: credentials, region, endpoint, patience.

Credentials come from boto3's chain, so environment, profiles, SSO, roles, containers and instances work as in the AWS
command line, and are renewed while a run goes on.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.settings import StorageSettings

__all__ = ["IMPATIENT", "PATIENT", "s3_client", "s3_options", "with_patience"]

# A long run waits out throttling and restarts of the store; a first look tells within seconds that nothing is there.
PATIENT: dict[str, Any] = {
    "retry_config": {
        "max_retries": 12,
        "backoff": {"init_backoff": timedelta(milliseconds=200), "max_backoff": timedelta(seconds=15), "base": 2},
        "retry_timeout": timedelta(minutes=3),
    },
    "client_options": {"connect_timeout": "5s", "timeout": "120s"},
}
IMPATIENT: dict[str, Any] = {
    "retry_config": {
        "max_retries": 2,
        "backoff": {"init_backoff": timedelta(milliseconds=200), "max_backoff": timedelta(seconds=1), "base": 2},
        "retry_timeout": timedelta(seconds=5),
    },
    "client_options": {"connect_timeout": "3s", "timeout": "10s"},
}
_ANY_REGION = "us-east-1"


def s3_options(settings: StorageSettings) -> dict[str, Any]:
    """The arguments of obstore's `S3Store`, but for its patience.

    Raises:
        ConfigurationError: there is no such profile, or no credentials, or they cannot be renewed.
    """
    from obstore.auth.boto3 import Boto3CredentialProvider

    session = _session(settings)
    endpoint = _endpoint(settings, session)
    options: dict[str, Any] = {"region": _region(settings, session)}
    if endpoint:
        options["endpoint"] = endpoint
    if settings.unsigned:
        return {**options, "skip_signature": True}
    _check_credentials(session)
    return {**options, "credential_provider": Boto3CredentialProvider(session, ttl=timedelta(minutes=5))}


def with_patience(options: dict[str, Any], patience: dict[str, Any]) -> dict[str, Any]:
    """The arguments of any store of obstore's, with its timeouts and retries."""
    plain = str(options.get("endpoint", "")).startswith("http://")
    return {**options, **patience, "client_options": {**patience["client_options"], "allow_http": plain}}


def s3_client(settings: StorageSettings) -> Any:
    """boto3's client for the same store, for what obstore has no name for."""
    from botocore import UNSIGNED
    from botocore.config import Config

    session = _session(settings)
    config = Config(
        retries={"mode": "standard", "max_attempts": 8},
        connect_timeout=5,
        read_timeout=120,
        # In a path, unlike in a host name, every key has a place; botocore and urllib3 leave it as it is.
        s3={"addressing_style": "path"},
        signature_version=UNSIGNED if settings.unsigned else None,
    )
    with _credentials_translated():
        return session.client(
            "s3", endpoint_url=_endpoint(settings, session), region_name=_region(settings, session), config=config
        )


def _session(settings: StorageSettings) -> Any:
    import boto3

    with _credentials_translated():
        return boto3.Session(
            profile_name=settings.profile,
            aws_access_key_id=settings.access_key_id,
            aws_secret_access_key=settings.secret_access_key,
            aws_session_token=settings.session_token,
            region_name=settings.region,
        )


def _check_credentials(session: Any) -> None:
    with _credentials_translated():
        credentials = session.get_credentials()
        if credentials is not None:
            credentials.get_frozen_credentials()
            return
    raise ConfigurationError(
        "No credentials for S3 are found.",
        code="no_credentials",
        remedy="Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile "
        "(--source-profile, --workspace-profile).",
    )


class _credentials_translated:  # noqa: N801 - used like a function
    """Turns what botocore raises into our error."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from botocore.exceptions import BotoCoreError, ClientError

        if isinstance(error, BotoCoreError | ClientError):
            raise ConfigurationError(
                f"S3 credentials: {error}",
                code="bad_credentials",
                remedy="Check the profile's name in ~/.aws/config; for SSO run `aws sso login`.",
            ) from error


def _region(settings: StorageSettings, session: Any) -> str:
    return settings.region or os.environ.get("AWS_REGION") or session.region_name or _ANY_REGION


def _endpoint(settings: StorageSettings, session: Any) -> str | None:
    if settings.endpoint:
        return settings.endpoint
    named = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    with _credentials_translated():
        of_profile = session._session.get_scoped_config().get("endpoint_url")  # noqa: SLF001 - boto3 has no other way
    return named or of_profile or None

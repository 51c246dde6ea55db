"""The telehealth domain, whose tools answer in prose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from breakfall.vocab import Arguments, Path, Settlement
from breakfall.worlds.gold.domain import Domain, GoldCall, names
from breakfall.worlds.gold.mapping import from_context, given
from breakfall.worlds.gold.readers import reader, yes
from breakfall.worlds.gold.session import Ask, Refused

_BY_EMAIL, _BY_NAME = "find_patient_by_email", "find_patient_by_name_dob"
_NAME = ("first_name", "last_name", "date_of_birth")


def _cancelled(text: Any, write: Arguments) -> Settlement | None:
    return yes(text, "the appointment is cancelled") if "- Status: Cancelled" in text else None


def _moved(text: Any, write: Arguments) -> Settlement | None:
    there = f"- Date: {write['new_date']}\n- Time: {write['new_time']}\n" in text
    return yes(text, "the appointment has the new time") if there else None


def _scheduled(text: Any, write: Arguments) -> Settlement | None:
    kind = write["appointment_type"].replace("_", " ").title()
    for line in text.splitlines():
        if f": {write['date']} at {write['time']} with " in line and f"[Scheduled, Type: {kind}]" in line:
            return yes(line, "the appointment is listed")
    return None


def known(ask: Ask, calls: Sequence[GoldCall]) -> dict[str, Any]:
    """Let the patient also state the key that the task leaves out: e-mail, or name and date of birth."""
    facts: dict[str, Any] = {}
    for call in calls:
        facts.update(_other_key(ask, call))
    return facts


def context(ask: Ask, call: GoldCall, calls: Sequence[GoldCall]) -> dict[str, Any]:
    """Return the other key of the patient whom a look-up finds."""
    return _other_key(ask, call)


def _other_key(ask: Ask, call: GoldCall) -> dict[str, Any]:
    if call.tool not in (_BY_EMAIL, _BY_NAME):
        return {}
    try:
        text = ask("get_patient_details", {"patient_id": ask(call.tool, call.arguments)})
    except Refused:
        return {}
    if call.tool == _BY_NAME:
        return {"email": _line(text, "- Email: ")}
    first, last = _line(text, "Patient Details for ").split(" (ID:")[0].split(" ", 1)
    return {"first_name": first, "last_name": last, "date_of_birth": _line(text, "- Date of Birth: ")}


def _line(text: str, start: str) -> str:
    return next(line.removeprefix(start) for line in text.splitlines() if line.startswith(start))


TELEHEALTH = Domain(
    services={
        "telehealth/email_index": _BY_EMAIL,
        "telehealth/directory": _BY_NAME,
        "telehealth/patients": "get_patient_details",
        "telehealth/appointments": "get_appointment_details list_patient_appointments schedule_appointment"
        " cancel_appointment reschedule_appointment",
        "telehealth/providers": "get_provider_details list_available_providers",
        "telehealth/records": "get_medical_record list_patient_medical_records",
        "telehealth/pharmacy": "list_medication_suppliers check_drug_interactions",
        "telehealth/desk": "calculate think transfer_to_human_support",
    },
    writes=names("reschedule_appointment transfer_to_human_support"),
    irreversible=names("schedule_appointment cancel_appointment"),
    natural=names("reschedule_appointment transfer_to_human_support"),
    unseen=names("transfer_to_human_support"),
    unread=names("reason summary"),
    readers={
        "cancel_appointment": reader("get_appointment_details", _cancelled, given("appointment_id")),
        "reschedule_appointment": reader("get_appointment_details", _moved, given("appointment_id")),
        "schedule_appointment": reader("list_patient_appointments", _scheduled, given("patient_id")),
    },
    paths={
        _BY_EMAIL: (Path(tool=_BY_NAME, arguments=from_context(*_NAME)),),
        _BY_NAME: (Path(tool=_BY_EMAIL, arguments=from_context("email")),),
    },
    ids={
        "patient": lambda tables: tables["patients"],
        "provider": lambda tables: tables["providers"],
        "appointment": lambda tables: tables["appointments"],
        "record": lambda tables: tables["medical_records"],
    },
    known=known,
    context=context,
)

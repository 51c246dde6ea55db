"""The mock domain: tasks on a list, which no tool shows."""

from __future__ import annotations

from breakfall.worlds.gold.domain import Domain, names

MOCK = Domain(
    services={
        "mock/users": "get_users",
        "mock/tasks": "create_task update_task_status",
        "mock/desk": "transfer_to_human_agents",
    },
    writes=names("create_task update_task_status transfer_to_human_agents"),
    natural=names("update_task_status transfer_to_human_agents"),
    unseen=names("transfer_to_human_agents"),
    unread=names("summary"),
    kinds={"tasks": "id:task"},
    ids={"task": lambda tables: tables["tasks"], "user": lambda tables: tables["users"]},
)

"""What stands in an empty section of a summary or handoff: where code looked, never that there was nothing."""

from __future__ import annotations

from typing import NamedTuple


class Absent(NamedTuple):
    """A sentence for a section in which nothing stands."""

    now: str
    former: str = ""
    """What earlier versions wrote in its place, a line each."""


NOT_READ = "Not looked for: code does not read for this."
NOTHING_OPEN = "nothing recognised in results of tools, todo lists and turns"
"""In a line of the checkpoint."""
FORMER_NOTHING = "none detected"

ORDERS = Absent(
    "The user's messages were searched by wording; nothing matched.", "None detected in what the user said."
)
REQUESTS = Absent("Looked for in messages of the user; none is on record.", "Nothing was asked for yet.")
INTENT = Absent("Looked for in the user's first message; none is on record.", "No intent was stated.")
CHANGED = Absent(
    "Calls of tools were looked at; none names a file that it changed.",
    "None detected in calls of tools.\nNo files were modified.",
)
DECISIONS = Absent(
    "Messages were searched by wording; no statement was recognised as a decision.",
    "No statement was recognised as a decision.\nNo decisions were stated.\nNone detected in what user and agent said.",
)
CONTEXT = Absent(
    NOT_READ,
    "Nobody stated anything for this section; code does not look for it.\nNo technical context was stated.",
)
STATE = Absent(f"{NOT_READ} The checkpoint has the newest request.", "No state was stated.")
BLOCKERS = Absent(
    f"{NOT_READ} The checkpoint has what results and todo lists show as open.",
    "None was stated; the checkpoint has what is open.\nNone was stated.\nNo blockers and no open questions.",
)
ERRORS = Absent(
    "Results of tools were looked at; none was recognised as a failure.",
    "None detected in results of tools.\nNo errors were met.",
)
NEXT = Absent(
    "Looked for in todo lists of tools and the agent's newest lists of what remains. The checkpoint has the next step.",
    "None was stated; the checkpoint has the next one.\nNo next steps were stated.",
)
ARTIFACTS = Absent(
    "Results of commands were looked at; no commit, link or file that one made was recognised.",
    "No commit, link or file that a command made was detected.\nNo key artifacts were stated.\n"
    "No commit, link or made file was detected.",
)

# Of handoffs.

TASK = Absent("Looked for in the caller's words and messages of the user.", "No task was stated.")
POINTERS = Absent("Given by its writer: none.", "There are no pointers.")
CALLER = "Not looked for: its writer states it."
"""Of what only a caller can say."""
OPEN_ERRORS = Absent(
    "Results of tools were looked at; none was recognised as a failure that is still open.",
    "None that is open was detected in results of tools.\nNone detected in results of tools.",
)
PRODUCED = Absent(CHANGED.now, "None detected in calls of tools.\nNo artifacts were produced.")
COMPLETE = Absent(
    "Todo lists, commits and checks show none; the agent's words were not searched.",
    "None detected in todo lists, commits and checks.\nNothing is known to be complete.",
)
IN_PROGRESS = Absent(
    "Looked for in the newest request and calls of tools; neither is on record.",
    "None detected in calls of tools.\nNothing is known to be in progress.",
)
REMAINING = Absent(
    "Looked for in todo lists of tools and the agent's newest lists of what remains; no other words were.",
    "None detected in todo lists.\nNothing is known to be blocked or deferred.\nNothing is known to remain.",
)
FACTS = Absent("No message is left to quote here.", "None detected in what was said.\nNo facts were stated.")
QUESTIONS = Absent(
    "Only the agent's questions after the newest request or call are looked for; none was recognised.",
    "None detected in what was said.\nNo questions are known to be open.",
)
CONSTRAINTS = Absent(
    "Only standing orders are looked for.", "None beside the standing orders.\nNo constraints were stated."
)
AGENTS = Absent(
    "Calls of tools were looked at; none starts another agent.",
    "No call of another agent was seen.\nNo other agents were used.",
)
SKILLS = Absent(
    "Calls of tools were looked at; none uses a skill.",
    "No call of a skill was seen.\nNo skills were applied.\nNo skills are suggested.",
)
UNDERSTANDING = Absent(NOT_READ, "Nothing was written down about the system.")
FILES_READ = Absent(
    "Calls of tools were looked at; none reads or changes a file.",
    "None detected in calls of tools.\nNo files were looked at.",
)
FINDINGS = Absent(
    "Only the agent's longer messages are looked for; none is on record.",
    "None detected in what was said.\nNo findings were stated.",
)
CHANGES = Absent(CALLER, "No changes were planned.")
UNIT = Absent(CALLER, "No unit tests were planned.")
INTEGRATION = Absent(CALLER, "No integration tests were planned.")
ACCEPTANCE = Absent(
    "Calls of tools were looked at; none runs a check. Plans were not searched.", "No acceptance tests were planned."
)
ORDER = Absent(
    "Looked for in todo lists of tools and the agent's newest lists of what remains.", "No order was stated."
)
STATUS = Absent(
    "Only todo lists are looked for; none was seen.", "No todo list was seen.\nNothing was ticked off or left open."
)
QUALITY = Absent(CALLER, "Nobody judged the plan.")
ISSUES = Absent(
    "Only the agent's newest report and questions are looked for; none is left to quote.",
    "None detected in what was said.\nNo issues were met.",
)
TESTS = Absent(
    "Calls of tools were looked at; none runs a check.", "None detected in calls of tools.\nNo tests were run."
)
PURPOSE = Absent(CALLER, "No purpose was stated.")
SCOPE = Absent(CALLER, "No scope was stated.")
START = Absent(FACTS.now, "No context was stated.")
HAND_BACK = Absent(CALLER, "Nothing in particular is expected back.")
RESULT = Absent("Only the agent's longer messages are looked for; none is on record.", "No result was stated.")
MADE = Absent(CHANGED.now, "No changes and no findings.")
MERGING = Absent(
    "Results of commands were looked at; none made a commit.", "Nothing needs care when this is taken over."
)
OPEN_ITEMS = Absent(
    "Results of tools, todo lists and questions of the agent were looked at; nothing open was recognised.",
    "None detected in results and what was said.\nNothing is known to be open.",
)

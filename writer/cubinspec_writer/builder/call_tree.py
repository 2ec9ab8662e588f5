"""What kernels of programs for debuggers state of the functions that they call.

ptxas -g gives each function of a whole program registers, barriers and calls of its own and adds
those of its callees to kernels when all is compiled. With one kernel it takes all functions of the
program for callees, but for registers.
"""

from __future__ import annotations

from cubinspec_generated.codes import EIATTR_CTAIDZ_USED, EIATTR_NUM_BARRIERS
from cubinspec_writer.builder import attributes
from cubinspec_writer.builder.attributes import record_code
from cubinspec_writer.builder.parts import CALLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.builder.parts import CubinParts, Function
    from cubinspec_writer.emitter.bodies import AttributeRecord


class CallTree:
    """Who calls whom, and what kernels have of it.

    Attributes:
        calls: name of a function -> what it calls, in the order of the call graph.
        has_one_kernel: whether the file has one kernel alone.
    """

    def __init__(self, parts: CubinParts) -> None:
        self.functions = parts.functions
        self.calls: dict[str, list[str]] = {}
        for kind, caller, callee in parts.edges:
            if kind == CALLS:
                self.calls.setdefault(caller, []).append(callee)
        self.has_one_kernel = sum(function.kernel for function in parts.functions) == 1
        self._is_stated = parts.for_debugger and not (parts.relocatable or parts.extensible)
        self._known: dict[str, list[Function]] = {}

    def callees(self, function: Function) -> list[Function]:
        """Functions whose needs a kernel states, in the order of the file."""
        if self._is_stated and function.kernel and self.has_one_kernel:
            return [one for one in self.functions if one is not function]
        return self.reached(function)

    def reached(self, function: Function) -> list[Function]:
        """Functions that a kernel calls, and those that they call, in the order of the file."""
        if not (self._is_stated and function.kernel):
            return []
        if function.name not in self.calls:
            return []
        if function.name not in self._known:
            names: set[str] = set()
            waiting = [function.name]
            while waiting:
                for callee in self.calls.get(waiting.pop(), ()):
                    if callee not in names:
                        names.add(callee)
                        waiting.append(callee)
            found = [one for one in self.functions if one.name in names and one is not function]
            self._known[function.name] = found
        return self._known[function.name]

    def registers(self, function: Function) -> int:
        """The registers of a function and of those that it reaches."""
        return max(one.registers for one in (function, *self.reached(function)))

    def barriers(self, function: Function) -> int:
        """The barriers of a function and of its callees."""
        return max(one.barriers for one in (function, *self.callees(function)))

    def inherited_externs(self, function: Function) -> list[str]:
        """Functions of other files that only callees call."""
        names = {name: None for one in self.callees(function) for name in one.externs}
        return [name for name in names if name not in function.externs]

    def are_externs_late(self, function: Function) -> bool:
        """Whether these stand behind all attributes, with what the kernel itself calls.

        They do where there is one kernel; those of the last function in the file then are first.
        """
        return self.has_one_kernel and bool(self.inherited_externs(function))

    def added_records(self, function: Function) -> list[AttributeRecord]:
        """Records of callees that the kernel has none of, in the order of the callees."""
        codes = {record_code(record) for record in function.attributes}
        records: dict[int, AttributeRecord] = {}
        for one in self.callees(function):
            own = {record_code(record) for record in one.attributes}
            if EIATTR_CTAIDZ_USED in own - codes:
                records[EIATTR_CTAIDZ_USED] = attributes.flag(EIATTR_CTAIDZ_USED)
            if one.barriers and not function.barriers:
                number = self.barriers(function)
                records[EIATTR_NUM_BARRIERS] = attributes.byte(EIATTR_NUM_BARRIERS, number)
        return list(records.values())

"""Links relocatable cubins as nvlink does: same inputs, same bytes."""

from __future__ import annotations

from . import output
from .callgraph import create_sections, join_callgraphs
from .diagnostics import Diagnostics, LinkError, UnsupportedLinkError
from .inputs import open_object, read_half
from .liveness import mark_live
from .merge import merge
from .model import SHT_CUDA_RELOCINFO
from .options import LinkOptions
from .place import place, place_commons
from .profile import profile_for
from .relocate import relocate
from .resolve import resolve
from .state import LinkState


def link_objects(objects, options):
    sm = int("".join(c for c in options.arch if c.isdigit()))
    state = LinkState(options, profile_for(sm), objects, Diagnostics(options.warnings_are_errors))
    fixed = output.start(state)
    resolve(state)
    mark_live(state)
    merge(state)
    place_commons(state)
    graph = join_callgraphs(state)
    graph_sections = create_sections(state, graph)
    place(state, graph)
    if state.profile.has_rel_action and not options.relocatable:
        action = state.create_section(".nv.rel.action", SHT_CUDA_RELOCINFO, 0, 8, entsize=8)
        action.data += output._REL_ACTION
    relocate(state)
    data = output.build(state, graph, fixed, graph_sections)
    state.diagnostics.stop_on_errors()
    return data, state

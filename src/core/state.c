/* state.c - the diagram of state.h as a table. */
#include "core/state.h"

#include <stddef.h>

const char *version_state_name(enum version_state state)
{
    switch (state) {
    case VERSION_PENDING: return "Pending";
    case VERSION_READY: return "Ready";
    case VERSION_CONDEMNED: return "Condemned";
    case VERSION_GONE: return "Gone";
    }
    return "?"; /* a row that a newer version or a hand has written */
}

static const struct {
    enum version_state from, to;
} moves[] = {
    {VERSION_GONE, VERSION_PENDING},    {VERSION_PENDING, VERSION_READY},  {VERSION_PENDING, VERSION_CONDEMNED},
    {VERSION_READY, VERSION_CONDEMNED}, {VERSION_CONDEMNED, VERSION_GONE},
};

bool version_move_legal(enum version_state from, enum version_state to)
{
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (moves[i].from == from && moves[i].to == to)
            return true;
    return false;
}

/* Promises of providers that have a file of their own. */
#pragma once
#include "provider_lab.h"

void a_group_keeps_a_node(struct lab *lab);
void anothers_group_is_not_touched(struct lab *lab);
void ways_are_opened_once_and_end_with_their_nodes(struct lab *lab);

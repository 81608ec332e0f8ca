/* One root for all tests of a program: each test finds it empty. Include after cmocka.h. */
#pragma once
#include "unit/base/tree.h"

static char root[TREE_SIZE];

static int make_root(void **state)
{
    (void)state;
    tree_make(root);
    return 0;
}

static int remove_root(void **state)
{
    (void)state;
    tree_remove(root);
    return 0;
}

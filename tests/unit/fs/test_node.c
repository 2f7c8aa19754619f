/* test_node.c - goal: the table finds what it was given by number and by (document, version), gives no number twice,
 * and keeps a node exactly as long as the kernel or somebody here needs it. Method: some thousand nodes, so that the
 * table grows; then all are forgotten. */
#include "fs/node.h"

#include "unit.h"

#include <sys/stat.h>

static struct document_row file(int64_t id, int64_t version)
{
    return (struct document_row){.id = id, .mode = S_IFREG | 0644, .version = version};
}

static void finds_what_it_was_given(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    struct nodes nodes;
    assert_int_equal(nodes_init(&nodes, NULL), STATUS_OK);
    for (int64_t i = 1; i <= MANY; i++) {
        struct document_row row = file(i % 1000 + 1, i);
        struct node *node = nodes_add(&nodes, &row, i);
        assert_non_null(node);
        assert_int_equal(node->number, i);
        node->lookups = 1;
    }
    for (int64_t i = 1; i <= MANY; i++) {
        struct node *node = nodes_find(&nodes, (uint64_t)i);
        assert_ptr_equal(nodes_of(&nodes, i % 1000 + 1, i), node);
        assert_null(nodes_of(&nodes, i % 1000 + 1, i + 1));
    }
    unsigned count = 0;
    for (struct node *node = nodes_next(&nodes, 17, NULL); node; node = nodes_next(&nodes, 17, node))
        count++;
    assert_int_equal(count, 5);
    for (int64_t i = 1; i <= MANY; i++) {
        struct node *node = nodes_find(&nodes, (uint64_t)i);
        nodes_drop(&nodes, node);
        assert_ptr_equal(nodes_find(&nodes, (uint64_t)i), node); /* the kernel still knows it */
        node->lookups = 0;
        nodes_drop(&nodes, node);
        assert_null(nodes_find(&nodes, (uint64_t)i));
    }
    assert_int_equal(nodes.count, 0);
    struct document_row row = file(1, 1);
    assert_int_equal(nodes_add(&nodes, &row, 1)->number, MANY + 1);
    nodes_done(&nodes);
}

static void a_node_in_use_stays(void **state)
{
    (void)state;
    struct nodes nodes;
    struct document_row row = file(1, 1);
    assert_int_equal(nodes_init(&nodes, NULL), STATUS_OK);
    struct node *node = nodes_add(&nodes, &row, 1);
    node->users = 1;
    nodes_drop(&nodes, node);
    assert_int_equal(nodes.count, 1);
    node->users = 0;
    nodes_drop(&nodes, node);
    assert_int_equal(nodes.count, 0);
    nodes_done(&nodes);
}

static void a_workspaces_node_is_no_version(void **state)
{
    (void)state;
    struct nodes nodes;
    struct document_row row = file(1, 0), directory = {.id = 2, .mode = S_IFDIR | 0755};
    assert_int_equal(nodes_init(&nodes, NULL), STATUS_OK);
    (void)nodes_add(&nodes, &row, 0);
    assert_null(nodes_of(&nodes, 1, 0));
    assert_non_null(nodes_next(&nodes, 1, NULL));
    struct node *node = nodes_add(&nodes, &directory, 0);
    assert_ptr_equal(nodes_of(&nodes, 2, 0), node);
    nodes_done(&nodes);
}

static void a_grown_node_has_the_new_version(void **state)
{
    (void)state;
    struct nodes nodes;
    struct document_row row = file(1, 4), grown = file(1, 9);
    assert_int_equal(nodes_init(&nodes, NULL), STATUS_OK);
    struct node *node = nodes_add(&nodes, &row, 4);
    node_grow(node, &grown);
    assert_ptr_equal(nodes_of(&nodes, 1, 9), node);
    assert_null(nodes_of(&nodes, 1, 4));
    nodes_done(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_it_was_given),
        cmocka_unit_test(a_node_in_use_stays),
        cmocka_unit_test(a_workspaces_node_is_no_version),
        cmocka_unit_test(a_grown_node_has_the_new_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

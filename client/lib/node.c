/* Call berth_get_node: reply with places, links and limits, and its release. */
#include "lib/read.h"

#define METHOD "io.berth.Fabric.GetNode"

static const char *const place_names[] = {"",   "machine", "package", "numa", "llc",    "core",
                                          "pu", "module",  "gpu",     "nic",  "switch", NULL};
static const char *const link_names[] = {"",    "xgmi",   "nvlink",  "c2c", "pcie",
                                         "smp", "membus", "network", NULL};
static const char *const state_names[] = {"", "up", "degraded", "down", NULL};

static void fill_place(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_place *)ret = (struct berth_place){
        .name = lib_read_text(read, item, "name"),
        .kind = (enum berth_place_kind)lib_read_enum(read, item, "kind", place_names),
        .parent = lib_read_maybe_text(read, item, "parent"),
        .numa = lib_read_maybe_text(read, item, "numa"),
        .cpus = lib_read_maybe_text(read, item, "cpus"),
        .model = lib_read_maybe_text(read, item, "model"),
        .pci = lib_read_maybe_text(read, item, "pci"),
        .uuid = lib_read_maybe_text(read, item, "uuid"),
        .render_node = lib_read_maybe_text(read, item, "render_node"),
        .capacity_bytes = lib_read_maybe_integer(read, item, "capacity_bytes"),
        .minor = lib_read_maybe_integer(read, item, "minor"),
        .details = lib_read_pairs(read, item, "details"),
    };
}

static void fill_link(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_link *)ret = (struct berth_link){
        .from = lib_read_text(read, item, "from"),
        .to = lib_read_text(read, item, "to"),
        .kind = (enum berth_link_kind)lib_read_enum(read, item, "kind", link_names),
        .state = (enum berth_link_state)lib_read_enum(read, item, "state", state_names),
        .width = lib_read_integer(read, item, "width"),
        .nominal_bytes_per_s = lib_read_maybe_number(read, item, "nominal_bytes_per_s"),
        .measured_bytes_per_s = lib_read_maybe_number(read, item, "measured_bytes_per_s"),
        .engine_bytes_per_s = lib_read_maybe_number(read, item, "engine_bytes_per_s"),
    };
}

static void fill_resource(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_resource *)ret = (struct berth_resource){
        .name = lib_read_text(read, item, "name"),
        .capacity_bytes_per_s = lib_read_maybe_number(read, item, "capacity_bytes_per_s"),
        .low = lib_read_maybe_number(read, item, "low"),
        .high = lib_read_maybe_number(read, item, "high"),
        .inferred = lib_read_bool(read, item, "inferred"),
        .users = lib_read_texts(read, item, "users"),
    };
}

static void fill_node(struct lib_read *read, const json_t *reply, void *ret)
{
    struct berth_node *node = ret;
    node->name = lib_read_text(read, reply, "name");
    node->places =
        lib_read_array(read, reply, "places", sizeof *node->places, fill_place, &node->place_count);
    node->links =
        lib_read_array(read, reply, "links", sizeof *node->links, fill_link, &node->link_count);
    node->resources = lib_read_array(read, reply, "resources", sizeof *node->resources,
                                     fill_resource, &node->resource_count);
    node->software = lib_read_pairs(read, reply, "software");
    node->disagreements = lib_read_texts(read, reply, "disagreements");
    node->basis = lib_read_basis(read, reply);
}

int berth_get_node(struct berth *berth, struct berth_node **ret_node)
{
    return lib_ask(berth, METHOD, json_object(), sizeof **ret_node, fill_node, ret_node);
}

void berth_node_free(struct berth_node *node) { lib_result_free(node); }

/**
 * Folder daemon/node: the data model of a node: places and links, values, concurrent runs, curves,
 *   snapshots, and the text form of records.
 *
 * Main types: struct graph, struct place, struct link, struct value, struct values, struct set,
 *   struct curve, struct snapshot.
 * Uses: base
 * Public headers: allowed.h counters.h curve.h engine_limit.h gpu.h graph.h jsonify.h
 *   kernel_events.h link_path.h locality.h metric.h node.h pci.h record.h record_plain.h
 *   record_values.h reasons.h sets.h snapshot.h spread.h throttled.h transfer.h tuned_sizes.h
 *   tuning.h values.h
 * Shown by: tests/unit/node, tests/replay
 */
#pragma once

/* Where nodes run and values lie in a session whose first provider is a device.
 *
 * A node runs on the device if the provider has a kernel for it, unless it is shape arithmetic, whose results the host needs. A value lies where
 * it is made; a graph input or constant where it is read. Where a value is read on the other side a node MemcpyToHost or MemcpyFromHost,
 * with its reason, stands before its first reader there. Views follow what they view. Subgraphs are placed with the
 * graph around them, whose node runs on the host and decides there. */
#ifndef ORTCORE_PLAN_PLACEMENT_H
#define ORTCORE_PLAN_PLACEMENT_H

#include <ortcore/provider/provider.h>

#define COPY_TO_DEVICE "MemcpyFromHost"
#define COPY_TO_HOST "MemcpyToHost"

/* Of the main graph with its subgraphs, after all passes. Sets node.kernel, node.placed_because and value.on_device. */
status placement_apply(graph *g, const provider *p) MUST_CHECK;

#endif

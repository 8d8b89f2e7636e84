/* Making a shape plan: facts, then what can be computed now, then where everything lies, then the kernels' per-shape state. */
#ifndef ORTCORE_PLAN_SHAPE_BUILD_H
#define ORTCORE_PLAN_SHAPE_BUILD_H

#include <ortcore/plan/shape_plan.h>

status shape_build(shape_plan *sp, int32_t feed_count, const tensor *const *feeds) MUST_CHECK;
/* Decides `where`, `root` and `offset` of every slot whose shape is known (sp->slots[].known), and the scratch offsets. */
status storage_build(shape_plan *sp) MUST_CHECK;

#endif

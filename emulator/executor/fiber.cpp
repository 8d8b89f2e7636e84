#include <emulator/executor/fiber.h>
#include <new>
#include <string.h>
#include <sys/mman.h>

namespace emulator {

/* Stacks begin at page boundaries, and equal frames at equal offsets would fight for the same few cache sets. */
static size_t stagger(unsigned number) { return number % 32 * 320; }

stack *stack_create() {
  void *memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  mprotect(memory, kGuardBytes, PROT_NONE);
  stack *s = new (std::nothrow) stack{};
  if (!s) {
    munmap(memory, kGuardBytes + kStackBytes);
    return nullptr;
  }
  s->low = static_cast<char *>(memory) + kGuardBytes;
  return s;
}

#ifdef EMULATOR_OWN_SWITCH

/* Pushes the registers that a called function must leave as they were, stores the stack pointer to *from, and pops those of the stack `to`. What
 * else there is (vector and mask registers too) a called function may change, so nobody relies on it. Rounding modes are the same everywhere. */
extern "C" void emulator_switch_stack(void **from, void *to) __attribute__((visibility("hidden")));

#if defined(__x86_64__)
asm(R"(
  .text
  .p2align 4
  .globl emulator_switch_stack
  .hidden emulator_switch_stack
  .type emulator_switch_stack, @function
emulator_switch_stack:
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size emulator_switch_stack, . - emulator_switch_stack
)");
constexpr size_t kFrameWords = 8, kReturnWord = 6;         /* the word behind it is where entry's own return address would be */
#else
asm(R"(
  .text
  .p2align 4
  .globl emulator_switch_stack
  .hidden emulator_switch_stack
  .type emulator_switch_stack, %function
emulator_switch_stack:
  stp x29, x30, [sp, #-160]!
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #16]
  ldp x21, x22, [sp, #32]
  ldp x23, x24, [sp, #48]
  ldp x25, x26, [sp, #64]
  ldp x27, x28, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x29, x30, [sp], #160
  ret
  .size emulator_switch_stack, . - emulator_switch_stack
)");
constexpr size_t kFrameWords = 20, kReturnWord = 1;
#endif

void stack_prepare(stack *s, unsigned number, void (*entry)()) {
  void **frame = reinterpret_cast<void **>(s->low + kStackBytes - 64 - stagger(number)) - kFrameWords;
  memset(frame, 0, kFrameWords * sizeof *frame);
  frame[kReturnWord] = reinterpret_cast<void *>(entry);
  s->start.stack_pointer = frame;
}

void switch_context(context *from, context *to) { emulator_switch_stack(&from->stack_pointer, to->stack_pointer); }

#else

void stack_prepare(stack *s, unsigned number, void (*entry)()) {
  getcontext(&s->start.state);
  s->start.state.uc_stack.ss_sp = s->low;
  s->start.state.uc_stack.ss_size = kStackBytes - stagger(number);
  s->start.state.uc_link = nullptr;
  makecontext(&s->start.state, entry, 0);
}

void switch_context(context *from, context *to) { swapcontext(&from->state, &to->state); }

#endif

}  // namespace emulator

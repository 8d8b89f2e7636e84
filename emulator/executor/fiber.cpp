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

#if defined(__x86_64__) && !defined(EMULATOR_UCONTEXT)

/* The ABI lets a called function change every register but these six, vector and mask registers included, so nothing else need be kept.
 * Rounding modes are the same everywhere. */
extern "C" void emulator_switch_stack(void **from, void *to) __attribute__((visibility("hidden")));
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

void stack_prepare(stack *s, unsigned number, void (*entry)()) {
  void **top = reinterpret_cast<void **>(s->low + kStackBytes - 64 - stagger(number));
  *--top = nullptr;                                        /* where entry's return address would be: the stack is aligned as after a call */
  *--top = reinterpret_cast<void *>(entry);
  for (int i = 0; i < 6; ++i) *--top = nullptr;            /* the registers that the switch restores */
  s->start.stack_pointer = top;
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

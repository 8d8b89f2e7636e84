/* Devices, streams and events through the vtable: the CPU's, and a second device made for the test that counts what is asked of it. */
#include "check.h"

#include <ortcore/device/device.h>
#include <ortcore/value/ort_value.h>
#include <string.h>

/* ---- A device whose memory is host memory under another name --------------------------------------------------------------------- */

static int copies, synchronised, waited;

static bool fake_serves(const device *d, const ortc_memory_info *info) {
  (void)d;
  return info->device_type == ORTC_DEVICE_NPU;
}
static status fake_stream_create(const device *d, stream **out) {
  static stream only;
  only.owner = d;
  *out = &only;
  return OK;
}
static void fake_stream_release(stream *s) { (void)s; }
static status fake_stream_synchronise(stream *s) {
  (void)s;
  ++synchronised;
  return OK;
}
static status fake_event_create(const device *d, event **out) {
  static event only;
  only.owner = d;
  *out = &only;
  return OK;
}
static void fake_event_release(event *e) { (void)e; }
static status fake_event_record(event *e, stream *s) {
  (void)e, (void)s;
  return OK;
}
static status fake_event_synchronise(event *e) {
  (void)e;
  ++waited;
  return OK;
}
static status fake_stream_wait(stream *s, event *e) {
  (void)s, (void)e;
  return OK;
}
static status fake_copy(const device *d, stream *s, memory_place to, memory_place from, size_t bytes) {
  (void)d, (void)s;
  ++copies;
  memcpy(to.data, from.data, bytes);
  return OK;
}

static const device_vtable fake_vtable = {
  .serves = fake_serves, .stream_create = fake_stream_create, .stream_release = fake_stream_release, .stream_synchronise = fake_stream_synchronise,
  .event_create = fake_event_create, .event_release = fake_event_release, .event_record = fake_event_record,
  .event_synchronise = fake_event_synchronise, .stream_wait = fake_stream_wait, .copy = fake_copy};
static const device fake = {&fake_vtable, "fake"};
static const ortc_memory_info fake_memory = {.name = "Fake", .device_type = ORTC_DEVICE_NPU};

/* ---- Tests --------------------------------------------------------------------------------------------------------------------------- */

static void test_the_cpu(void) {
  stream *s;
  event *e;
  CHECK(device_of(&memory_info_cpu) == device_cpu());
  CHECK(device_cpu()->vtable->allocator(device_cpu()) == allocator_default());
  CHECK(!stream_create(device_cpu(), &s) && !event_create(device_cpu(), &e));
  CHECK(!event_record(e, s) && !stream_wait(s, e) && !event_synchronise(e) && !stream_synchronise(s));
  event_release(e);
  stream_release(s);
  stream_release(NULL);
  event_release(NULL);
}

static void test_memory_of_no_device(void) {
  char to[4], from[4] = "abc";
  CHECK(!device_of(&fake_memory));
  status failed = device_copy(&fake_memory, to, &memory_info_cpu, from, sizeof to);
  CHECK(ortc_status_get_code(failed) == ORTC_NOT_IMPLEMENTED);
  ortc_status_release(failed);
}

static void test_a_second_device(void) {
  char to[4] = "", from[4] = "abc";
  CHECK(device_register(&fake) && device_of(&fake_memory) == &fake);
  CHECK(!device_copy(&fake_memory, to, &memory_info_cpu, from, sizeof to) && copies == 1 && !strcmp(to, "abc"));
  CHECK(!device_copy(&memory_info_cpu, from, &fake_memory, to, sizeof to) && copies == 2);
  CHECK(!device_copy(&memory_info_cpu, to, &memory_info_cpu, from, sizeof to) && copies == 2);
  stream *cpu_stream, *fake_stream;
  event *e;
  CHECK(!stream_create(device_cpu(), &cpu_stream) && !stream_create(&fake, &fake_stream) && !event_create(&fake, &e));
  CHECK(!event_record(e, fake_stream) && !stream_wait(cpu_stream, e) && waited == 1);
  CHECK(!stream_synchronise(fake_stream) && synchronised == 1);
}

/* Values reach the device through the same door. */
static void test_values_are_copied_by_their_device(void) {
  float there[2] = {0}, here[2] = {1, 2};
  int64_t dims[] = {2};
  ortc_value *to, *from;
  CHECK(!ortc_value_create_borrowed(&fake_memory, ORTC_FLOAT, 1, dims, there, sizeof there, NULL, NULL, &to));
  CHECK(!ortc_value_create_borrowed(NULL, ORTC_FLOAT, 1, dims, here, sizeof here, NULL, NULL, &from));
  int before = copies;
  CHECK(!ortc_value_copy_into(from, to) && copies == before + 1 && there[1] == 2);
  ortc_value_release(to);
  ortc_value_release(from);
}

int main(void) {
  RUN(test_the_cpu);
  RUN(test_memory_of_no_device);
  RUN(test_a_second_device);
  RUN(test_values_are_copied_by_their_device);
  return check_result();
}

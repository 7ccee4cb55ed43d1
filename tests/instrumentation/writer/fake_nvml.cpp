// A fake libnvidia-ml.so.1 with two GPUs: one with 18 links of NVLink 4, two of them inactive; one without links.
#include <cstring>

namespace {
constexpr const char* linked = "GPU-01020304-0506-0708-090a-0b0c0d0e0f10";
constexpr const char* alone = "GPU-11020304-0506-0708-090a-0b0c0d0e0f10";
int on = 0;
bool has_links(const void* device) { return device == static_cast<const void*>(&linked); }
}  // namespace

extern "C" {
struct field {
  unsigned id, scope;
  long long times[2];
  unsigned type;
  int result;
  unsigned long long value;
};
int nvmlInit_v2() { return ++on > 0 ? 0 : 1; }
int nvmlShutdown() { return --on >= 0 ? 0 : 1; }
int nvmlDeviceGetHandleByUUID(const char* uuid, const void** device) {
  if (on == 0) return 1;
  if (std::strcmp(uuid, linked) == 0) return *device = &linked, 0;
  if (std::strcmp(uuid, alone) == 0) return *device = &alone, 0;
  return 6;
}
int nvmlDeviceGetNvLinkState(const void* device, unsigned link, unsigned* active) {
  if (!has_links(device) || link >= 18) return 3;
  *active = link == 4 || link == 17 ? 0 : 1;
  return 0;
}
int nvmlDeviceGetNvLinkVersion(const void* device, unsigned link, unsigned* version) {
  *version = 6;  // 4.0
  return has_links(device) && link < 18 ? 0 : 3;
}
int nvmlDeviceGetFieldValues(const void* device, int count, field* fields) {
  for (int i = 0; i < count; ++i) {
    // Responds like driver 580: separately for each link. The field for all links together (90) is supported, but 0.
    const bool of_link = fields[i].id == 164 && fields[i].scope < 18;
    fields[i].result = has_links(device) && (of_link || fields[i].id == 90) ? 0 : 3;
    fields[i].type = of_link ? 1 : 3;
    fields[i].value = of_link ? 26562 : 0;
  }
  return 0;
}
}  // extern "C"

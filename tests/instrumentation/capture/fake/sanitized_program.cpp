// sanitized_program: built with AddressSanitizer, whose runtime looks up most of the C library by dlsym before main
// begins, relative to itself. When preloaded, the capture library comes before both. Status 0 if every lookup finds the
// expected function.

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

int main() {
  if (dlsym(RTLD_NEXT, "malloc") == nullptr || dlsym(RTLD_DEFAULT, "printf") == nullptr) return 1;
  if (dlsym(RTLD_DEFAULT, "no_such_function") != nullptr || dlerror() == nullptr) return 2;
  std::vector<int> numbers(1000);
  std::thread([&] { numbers.resize(2000); }).join();
  try {
    throw std::runtime_error("caught");
  } catch (const std::runtime_error&) {
    return numbers.size() == 2000 ? 0 : 3;
  }
}

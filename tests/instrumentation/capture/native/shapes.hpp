#pragma once

/// Functions whose frames differ in shape, compiled several times with different options. Each calls its argument from
/// inside a few frames of its own.
namespace sluice::test {

using visit = void (*)(void* with);

struct shape {
  const char* name;
  void (*run)(visit call, void* with);
};

/// Tables of functions, one for each set of compiler options. Each table ends with a null name.
extern "C" const shape* shapes_plain();        // -O2 without frame pointers
extern "C" const shape* shapes_framed();       // -O2 with frame pointers
extern "C" const shape* shapes_unoptimised();  // -O0
// The same functions are also in a separate library, "shapes_library".

}  // namespace sluice::test

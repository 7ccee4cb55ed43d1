# Sets the language version, warnings and sanitizers, and makes the build itself faster.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g1")

find_program(SLUICE_CCACHE ccache)
if(SLUICE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${SLUICE_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${SLUICE_CCACHE}")
endif()

find_program(SLUICE_LLD ld.lld)
if(EMSCRIPTEN)
  # JavaScript's exceptions are used, because this compiler's libraries lack WebAssembly's exceptions. Threads would
  # need a page that is isolated.
  add_compile_options(-fexceptions -pthread)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${SLUICE_ROOT}/cmake/web/library_shim.hpp>")
  add_link_options(-fexceptions -pthread)
elseif(SLUICE_LLD)
  add_link_options(-fuse-ld=lld)
  # This link option places functions that run at each event (SLUICE_HOT) side by side. GNU ld does so by default.
  set(SLUICE_HOT_TOGETHER -Wl,-z,keep-text-section-prefix)
endif()

# All of Sluice's targets link to this one. Third-party code never does.
add_library(sluice_options INTERFACE)
target_compile_features(sluice_options INTERFACE cxx_std_20)
# In files that are compiled together, a helper of one file may have the name of a variable of another, and GCC treats
# all of them as headers. `./dev lint` checks each file alone.
set(together "$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>")
set(gcc_together "$<AND:${together},$<CXX_COMPILER_ID:GNU>>")
target_compile_options(sluice_options INTERFACE -Wall -Wextra -Wpedantic "$<$<NOT:${together}>:-Wshadow>" -Wconversion -Werror
                                                "$<${gcc_together}:-Wshadow=local>" "$<${gcc_together}:-Wno-subobject-linkage>")
if(EMSCRIPTEN)
  # Sizes have 32 bits in WebAssembly. A number read from a file is compared with its limit as a 64-bit number before it
  # becomes a size.
  target_compile_options(sluice_options INTERFACE -Wno-shorten-64-to-32 -Wno-unused-private-field)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC gives false alarms about std::string in optimised builds (GCC bug 105651).
  target_compile_options(sluice_options INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # Objects of up to 256 bytes are zeroed by vector stores. GCC would zero those of 80 bytes and more with "rep stos",
  # which takes about 40 cycles to start, more than the rest of a function that handles one event.
  target_compile_options(sluice_options INTERFACE -mmemset-strategy=vector_loop:256:noalign,libcall:-1:noalign)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The compiler starts garbage collection at 700 MB instead of 128 MB. That saves 5 % of the time and costs 10 % more
  # memory.
  target_compile_options(sluice_options INTERFACE --param=ggc-min-heapsize=700000)
endif()
target_include_directories(sluice_options INTERFACE "${SLUICE_ROOT}")

if(NOT SLUICE_SANITIZE STREQUAL "")
  # The standard library checks indices, and front() of an empty container. The sanitizers miss most of these errors.
  target_compile_definitions(sluice_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(SLUICE_SANITIZE STREQUAL "address")
  target_compile_options(sluice_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
                                                  -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(SLUICE_SANITIZE STREQUAL "thread")
  target_compile_options(sluice_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  # GCC warns that the sanitizer does not see fences. The rings do not depend on fences alone.
  target_compile_options(sluice_options INTERFACE -Wno-tsan)
  add_link_options(-fsanitize=thread)
elseif(SLUICE_SANITIZE STREQUAL "fuzzer")
  # Only Clang builds this, and its warnings differ from those that Sluice's code is written for. The checks that the
  # address sanitizer also makes (null pointers, sizes of objects) and the check of casts of polymorphic types are left
  # out, because these three take a quarter of the compile time.
  target_compile_options(sluice_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=null,object-size,vptr
                                                  -fno-sanitize-recover=undefined -fno-omit-frame-pointer -Wno-error)
  add_link_options(-fsanitize=address,undefined)
elseif(NOT SLUICE_SANITIZE STREQUAL "")
  message(FATAL_ERROR "SLUICE_SANITIZE is '${SLUICE_SANITIZE}': expected empty, address, thread or fuzzer")
endif()

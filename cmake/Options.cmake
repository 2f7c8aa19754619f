# Options.cmake - switches, warnings, sanitizers.
option(READYFS_TESTS "build the tests" ON)
option(READYFS_COVERAGE "measure coverage" OFF)
set(READYFS_SANITIZE "" CACHE STRING "sanitizers for the whole build: address,undefined or thread")

add_library(readyfs_flags INTERFACE)
target_compile_definitions(readyfs_flags INTERFACE _GNU_SOURCE _FILE_OFFSET_BITS=64 FUSE_USE_VERSION=314
                           READYFS_VERSION="${PROJECT_VERSION}")
target_compile_options(readyfs_flags INTERFACE
    -Wall -Wextra -Werror -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -Wpointer-arith -Wcast-qual -Wwrite-strings -Wformat=2 -Wundef -Wvla -Wnull-dereference
    -fno-common -fstack-protector-strong -fno-omit-frame-pointer
    -include ${CMAKE_SOURCE_DIR}/src/base/banned.h)
target_link_options(readyfs_flags INTERFACE -Wl,-z,relro,-z,now)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(readyfs_flags INTERFACE -Wlogical-op -Wduplicated-cond -Wno-pedantic)
else()
    target_compile_options(readyfs_flags INTERFACE -Wno-gnu-statement-expression -Wno-pedantic)
endif()
if(READYFS_SANITIZE)
    target_compile_options(readyfs_flags INTERFACE -fsanitize=${READYFS_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(readyfs_flags INTERFACE -fsanitize=${READYFS_SANITIZE})
    target_compile_options(readyfs_flags INTERFACE -Wno-null-dereference)
endif()
if(READYFS_COVERAGE)
    target_compile_options(readyfs_flags INTERFACE --coverage)
    target_link_options(readyfs_flags INTERFACE --coverage)
endif()

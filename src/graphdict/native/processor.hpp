// What this processor and its operating system let a program run.
#pragma once

#if defined(_M_X64) && !defined(__clang__)
#include <immintrin.h>
#include <intrin.h>
#define GRAPHDICT_X86_64
#elif defined(__x86_64__)
#include <cpuid.h>
#define GRAPHDICT_X86_64
#endif

namespace graphdict {

#if defined(GRAPHDICT_X86_64)

// Registers of the instruction that tells what a processor has.
struct ProcessorWords {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

inline ProcessorWords processor_words(unsigned leaf) {
    ProcessorWords found;
#if defined(_M_X64) && !defined(__clang__)
    int words[4];
    __cpuid(words, 0);
    if (static_cast<unsigned>(words[0]) < leaf) return found;
    __cpuidex(words, static_cast<int>(leaf), 0);
    found.eax = words[0], found.ebx = words[1], found.ecx = words[2], found.edx = words[3];
#else
    __get_cpuid_count(leaf, 0, &found.eax, &found.ebx, &found.ecx, &found.edx);
#endif
    return found;
}

// Which registers the operating system keeps for a thread while others run.
inline unsigned kept_registers() {
#if defined(_M_X64) && !defined(__clang__)
    return static_cast<unsigned>(_xgetbv(0));
#else
    unsigned low, high;
    __asm__ __volatile__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
#endif
}

// Whether this processor can run the module for wide registers: AVX2, FMA and BMI2.
inline bool has_wide_registers() {
    const ProcessorWords basic = processor_words(1), extended = processor_words(7);
    const auto has = [](unsigned word, int bit) { return (word >> bit & 1) != 0; };
    const bool kept = has(basic.ecx, 27) && (kept_registers() & 6) == 6;  // 128 and 256 bits wide
    return kept && has(basic.ecx, 28) && has(basic.ecx, 12) && has(extended.ebx, 5) &&
           has(extended.ebx, 8);
}

#else

inline bool has_wide_registers() { return false; }

#endif

}  // namespace graphdict

// Threads that share jobs: compiled loops that need nothing of Python.
//
// A pool is asked for one round of jobs after the other, every millisecond or so. Each thread takes
// one piece of a job after the other, since cores may differ in speed. Whoever waits for the next
// round, or for the end of one, looks again and again for a while before going to sleep: waking up
// takes as long as some rounds do. Pools at hand elsewhere sleep at once.
#pragma once

#include <algorithm>
#include <any>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "arrays.hpp"
#include "registers.hpp"

namespace graphdict {

// Some work in pieces, which any threads do at the same time, and what is left when all are done.
class Job {
   public:
    Job() = default;
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    virtual ~Job() = default;

    virtual std::size_t pieces() const { return 1; }
    virtual void work(std::size_t piece) = 0;
    virtual void finish() {}

    // Before the first piece is run; false if the job is being run already.
    bool begin() {
        if (running.exchange(true)) return false;
        left = pieces();
        failed = false;
        return true;
    }
    // A piece, in any thread; what goes wrong first is kept.
    void run(std::size_t piece) noexcept {
        try {
            work(piece);
            if (left.fetch_sub(1) == 1) finish();
        } catch (...) {
            if (!failed.exchange(true)) error = std::current_exception();
        }
    }
    // After the last one.
    void end() { running = false; }
    void rethrow() const {
        if (failed) std::rethrow_exception(error);
    }

   protected:
    // The job uses the memory of arrays that these hold.
    template <class... T>
    void keep_alive(const T&... holders) {
        (kept.emplace_back(holders), ...);
    }

   private:
    std::atomic<std::size_t> left{0};
    std::atomic<bool> running{false}, failed{false};
    std::exception_ptr error;
    std::vector<std::any> kept;
};

// Jobs that have begun and end with it. One that is listed twice is run once: all runs would write
// the same into the same memory.
class Round {
   public:
    explicit Round(const std::vector<Job*>& listed) {
        jobs.reserve(listed.size());
        for (Job* job : listed)
            if (job->begin())
                jobs.push_back(job);
            else if (std::find(jobs.begin(), jobs.end(), job) == jobs.end()) {
                end();
                throw std::invalid_argument("a job is being run by another thread");
            }
    }
    ~Round() { end(); }
    Round(const Round&) = delete;
    Round& operator=(const Round&) = delete;

    void rethrow() const {
        for (const Job* job : jobs) job->rethrow();
    }

    std::vector<Job*> jobs;

   private:
    void end() {
        for (Job* job : jobs) job->end();
    }
};

class ThreadPool {
   public:
    // So many threads beside the one that asks.
    explicit ThreadPool(int helpers) {
        expect(helpers >= 0, "helpers must not be negative");
        try {
            for (int i = 0; i < helpers; ++i) threads.emplace_back([this] { serve(); });
        } catch (...) {  // there may be no more threads to have
            stop();
            throw;
        }
    }

    ~ThreadPool() { stop(); }

    // Returns when all jobs are done, their pieces by whoever is free, and throws what one threw.
    // Threads that ask at the same time wait for each other.
    void run(const std::vector<Job*>& listed) {
        std::lock_guard one_at_a_time(asking);
        const Round jobs(listed);
        std::vector<Piece> pieces;
        for (Job* job : jobs.jobs)
            for (std::size_t i = 0; i < job->pieces(); ++i) pieces.push_back({job, i});
        if (threads.empty() || pieces.size() == 1)
            for (const Piece& piece : pieces) piece.job->run(piece.number);
        else
            share(pieces);
        jobs.rethrow();
    }

   private:
    struct Piece {
        Job* job;
        std::size_t number;
    };

    void share(const std::vector<Piece>& pieces) {
        const std::uint64_t round = (next.load() >> 32) + 1;
        // First a round without work, so that nobody takes a piece of one round for that of
        // another.
        next.store(round << 32 | NONE);
        current = pieces.data();
        count = pieces.size();
        done = 0;
        next.store(round << 32);
        {
            std::lock_guard lock(mutex);  // whoever is about to sleep sees the round, or is woken
        }
        changed.notify_all();
        while (work_on_one()) {
        }
        wait([&] { return done.load() == pieces.size(); }, WITHIN);
    }

    void stop() {
        {
            std::lock_guard lock(mutex);
            stopped = true;
        }
        changed.notify_all();
        for (auto& thread : threads) thread.join();
        threads.clear();
    }

    static constexpr std::uint64_t NONE = 0xffffffff;
    // For the next round, while Python is at work; and for the end of one, which others may need
    // this core for.
    static constexpr auto BETWEEN = std::chrono::microseconds(600);
    static constexpr auto WITHIN = std::chrono::microseconds(200);

    // Take the next piece of this round and do it, if there is one.
    bool work_on_one() {
        std::uint64_t seen = next.load();
        while ((seen & NONE) < count.load()) {
            const Piece* pieces = current.load();
            if (!next.compare_exchange_weak(seen, seen + 1)) continue;
            const std::size_t pieces_of_round = count.load();
            const Piece piece = pieces[seen & NONE];
            piece.job->run(piece.number);
            if (done.fetch_add(1) + 1 == pieces_of_round) {
                std::lock_guard lock(mutex);
                changed.notify_all();
            }
            return true;
        }
        return false;
    }

    void serve() {
        while (true) {
            wait([this] { return stopped.load() || (next.load() & NONE) < count.load(); }, BETWEEN);
            if (stopped) return;
            work_on_one();
        }
    }

    template <class Condition>
    void wait(Condition holds, std::chrono::microseconds patience) {
        const auto until = std::chrono::steady_clock::now() + patience;
        do {
            for (int i = 0; i < 64; ++i, pause())
                if (holds()) return;
        } while (std::chrono::steady_clock::now() < until);
        std::unique_lock lock(mutex);
        changed.wait(lock, holds);
    }

    std::atomic<std::uint64_t> next{NONE};  // the round, and which of its pieces
    std::atomic<const Piece*> current{nullptr};
    std::atomic<std::size_t> count{0}, done{0};
    std::atomic<bool> stopped{false};
    std::mutex mutex, asking;
    std::condition_variable changed;
    std::vector<std::thread> threads;
};

// A job as Python holds it.
struct JobHandle {
    template <class Kind>
    JobHandle(std::unique_ptr<Kind> job) : job(std::move(job)) {}

    std::unique_ptr<Job> job;
};

inline void bind_thread_pool(py::module_& m) {
    py::class_<JobHandle>(m, "Job").def("__call__", [](JobHandle& handle) {
        WithoutGil without_gil;
        Job& job = *handle.job;
        const Round alone({&job});
        for (std::size_t i = 0; i < job.pieces(); ++i) job.run(i);
        alone.rethrow();
    });
    py::class_<ThreadPool>(m, "ThreadPool")
        .def(py::init<int>(), py::arg("helpers"))
        .def(
            "run",
            [](ThreadPool& pool, const py::list& listed) {
                const py::tuple kept(listed);  // others may change the list meanwhile
                std::vector<Job*> jobs;
                for (const py::handle one : kept) {
                    JobHandle* handle = nullptr;
                    if (!py::try_cast(one, handle, false) || !handle)
                        throw py::type_error("what is listed must be jobs");
                    jobs.push_back(handle->job.get());
                }
                WithoutGil without_gil;
                pool.run(jobs);
            },
            py::arg("jobs"));
}

}  // namespace graphdict

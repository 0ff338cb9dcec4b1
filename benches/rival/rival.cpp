// FCFS and EASY as a C++ programmer would write them for one purpose: equal nodes with ids, the lowest free ids first,
// and the energy of each node. The yardstick of core.py, which checks that the engine gives the same bytes.
//
//     rival LOG NODES fcfs|easy IDLE_W BUSY_W [OUT]
//
// LOG is plain SWF, sorted by submit, each line a job with a runtime and nodes. Printed are CPU seconds and peak memory.
// OUT gets starts (int64, microseconds, -1: never), node ids (int32, job by job) and node energies (double, J).

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

using Time = std::int64_t;  // whole microseconds
constexpr Time SECOND = 1'000'000;
constexpr Time NEVER = INT64_MAX;

struct Job {
    Time submit, length, planned;  // the run, cut off at the walltime; what the plan reckons with
    int nodes;
};

struct Waiting {  // all that a pass asks of a waiting job, side by side
    Time planned;
    int nodes, job;
};

std::vector<Job> read(const char* path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    std::string text(file ? std::size_t(file.tellg()) : 0, '\0');
    file.seekg(0).read(text.data(), std::streamsize(text.size()));
    std::vector<Job> jobs;
    for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
        if (*at != ';' && *at != '\n') {
            Time field[9];  // number, submit, wait, runtime, allocated, CPU time, memory, requested, walltime
            for (Time& value : field) value = std::strtoll(at, const_cast<char**>(&at), 10);
            const Time runtime = field[3] * SECOND, walltime = field[8] > 0 ? field[8] * SECOND : NEVER;
            const Time nodes = field[7] > 0 ? field[7] : field[4];
            jobs.push_back({field[1] * SECOND, std::min(runtime, walltime), walltime < NEVER ? walltime : runtime, int(nodes)});
        }
        at = static_cast<const char*>(std::memchr(at, '\n', end - at));
        if (at == nullptr) break;
    }
    return jobs;
}

class Scheduler {
public:
    std::vector<Time> start, busy;  // of each job; of each node
    std::vector<int> ids;           // nodes of all jobs, job by job
    Time last = 0;                  // the last end

    Scheduler(const std::vector<Job>& jobs, int nodes, bool easy)
        : start(jobs.size(), -1), busy(nodes), jobs(jobs), easy(easy), free(nodes), total(nodes), unused(nodes / 64 + 1) {
        for (int node = 0; node < nodes; ++node) unused[node / 64] |= 1ull << node % 64;
        first.reserve(jobs.size());
        std::size_t sum = 0;
        for (const Job& job : jobs) first.push_back(sum), sum += job.nodes <= nodes ? job.nodes : 0;
        ids.resize(sum);
    }

    void run() {
        for (std::size_t next = 0; next < jobs.size() || !ends.empty();) {
            now = std::min(next < jobs.size() ? jobs[next].submit : NEVER, ends.empty() ? NEVER : ends.top().first);
            for (; !ends.empty() && ends.top().first == now; ends.pop()) release(ends.top().second);
            for (; next < jobs.size() && jobs[next].submit == now; ++next)
                if (jobs[next].nodes <= total) queue.push_back({jobs[next].planned, jobs[next].nodes, int(next)});
            pass();
        }
    }

private:
    const std::vector<Job>& jobs;
    const bool easy;
    Time now = 0;
    int free, total;
    std::vector<std::uint64_t> unused;  // a bit a node
    std::vector<std::size_t> first;     // where a job's nodes stand in `ids`
    std::vector<Waiting> queue;         // from `head` on
    std::size_t head = 0;
    std::vector<std::pair<Time, int>> releases;  // planned ends with nodes, the latest first
    std::priority_queue<std::pair<Time, int>, std::vector<std::pair<Time, int>>, std::greater<>> ends;

    void pass() {
        while (head < queue.size() && queue[head].nodes <= free) begin(queue[head++]);
        if (head == queue.size()) queue.clear(), head = 0;
        if (easy && free > 0 && queue.size() > head + 1) backfill();
        if (head > 1024 && 2 * head > queue.size()) queue.erase(queue.begin(), queue.begin() + head), head = 0;
    }

    void backfill() {
        int extra = free - queue[head].nodes;
        auto at = releases.rbegin();
        for (; extra < 0; ++at) extra += at->second;
        const Time shadow = at[-1].first;
        for (; at != releases.rend() && at->first == shadow; ++at) extra += at->second;
        std::size_t kept = head + 1, here = kept;
        for (; here < queue.size() && free > 0; ++here) {
            const Waiting job = queue[here];
            const bool in_time = now + job.planned <= shadow;
            if (job.nodes <= free && (in_time || job.nodes <= extra)) {
                if (!in_time) extra -= job.nodes;
                begin(job);
            } else {
                queue[kept++] = job;
            }
        }
        if (kept != here) queue.erase(queue.begin() + kept, queue.begin() + here);
    }

    void begin(const Waiting& waiting) {
        const Job& job = jobs[waiting.job];
        start[waiting.job] = now;
        int* to = &ids[first[waiting.job]];
        free -= job.nodes;
        for (int word = 0, missing = job.nodes; missing > 0; ++word)
            for (; unused[word] != 0 && missing > 0; --missing, unused[word] &= unused[word] - 1) {
                *to = 64 * word + __builtin_ctzll(unused[word]);
                busy[*to++] += job.length;
            }
        last = std::max(last, now + job.length);
        ends.push({now + job.length, waiting.job});
        const std::pair<Time, int> planned(now + job.planned, job.nodes);
        releases.insert(std::lower_bound(releases.begin(), releases.end(), planned, std::greater<>()), planned);
    }

    void release(int number) {
        const Job& job = jobs[number];
        free += job.nodes;
        for (int i = 0; i < job.nodes; ++i) unused[ids[first[number] + i] / 64] |= 1ull << ids[first[number] + i] % 64;
        const std::pair<Time, int> planned(start[number] + job.planned, job.nodes);
        releases.erase(std::lower_bound(releases.begin(), releases.end(), planned, std::greater<>()));
    }
};

std::vector<double> energies(const Scheduler& done, Time span, Time idle_uw, Time busy_uw) {
    std::vector<double> joules;
    const __int128 joule = __int128(SECOND) * SECOND;  // in microwatt-microseconds
    for (Time busy : done.busy) {
        const __int128 energy = __int128(busy) * busy_uw + __int128(span - busy) * idle_uw;
        joules.push_back(double(std::int64_t(energy / joule)) + double(std::int64_t(energy % joule)) / 1e12);
    }
    return joules;
}

double cpu_s() { return double(std::clock()) / CLOCKS_PER_SEC; }

long peak_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmHWM:", 0) == 0) return std::atol(line.c_str() + 6) * 1024;
    return 0;
}

template <class T> void write(std::FILE* file, const std::vector<T>& all) { std::fwrite(all.data(), sizeof(T), all.size(), file); }

int main(int count, char** argument) {
    if (count < 6) return std::fputs("rival LOG NODES fcfs|easy IDLE_W BUSY_W [OUT]\n", stderr), 2;
    const double begun = cpu_s();
    const std::vector<Job> jobs = read(argument[1]);
    if (jobs.empty()) return std::fputs("rival: no jobs in the log\n", stderr), 1;
    const double has_read = cpu_s();
    Scheduler done(jobs, std::atoi(argument[2]), std::strcmp(argument[3], "easy") == 0);
    done.run();
    const auto joules = energies(done, done.last - jobs[0].submit, std::atof(argument[4]) * 1e6, std::atof(argument[5]) * 1e6);
    const double has_run = cpu_s();
    std::printf("{\"read_s\": %f, \"run_s\": %f, \"peak_bytes\": %ld}\n", has_read - begun, has_run - has_read, peak_bytes());
    if (count > 6) {
        std::FILE* out = std::fopen(argument[6], "wb");
        if (out == nullptr) return std::perror(argument[6]), 1;
        write(out, done.start), write(out, done.ids), write(out, joules);
        return std::fclose(out);
    }
}

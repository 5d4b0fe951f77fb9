package dev.redlock.history;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Random legal histories. Each operation takes effect in one step, at a random time between the lines of its call and
 * of its end. Leases expire, are lost and are extended; processes are killed at any step; holders are late.
 */
final class RandomHistory {
    /** The least time between two lines. */
    static final int GAP_NS = 10;
    private static final int PROCESSES = 5;
    private static final int KILLED_ONE_IN = 60;
    private static final int LOST_ONE_IN = 40;
    private static final String NONE = "";

    private final Random random;
    private final List<String> lines = new ArrayList<>();
    private final List<Process> processes = new ArrayList<>();
    private final List<Process> holders = new ArrayList<>();
    private int processCount;
    private long nowNs = 1000;
    private long granted;
    private long register;

    /** One process with its call and its lease. */
    private static final class Process {
        private final int number;
        private String call = NONE;
        private String type = NONE;
        private String kind = "plain";
        private boolean isLeased;
        private boolean isLost;
        private long token;
        private long read;
        private long callNs;
        private long heldNs;
        private long untilNs;

        Process(int number) {
            this.number = number;
        }

        boolean isReader() {
            return kind.equals("reader");
        }
    }

    private RandomHistory(Random random) {
        this.random = random;
    }

    static List<String> of(Random random, int steps) {
        RandomHistory history = new RandomHistory(random);
        for (int i = 0; i < PROCESSES; i++) {
            history.processes.add(new Process(history.processCount++));
        }
        for (int i = 0; i < steps; i++) {
            history.step(random.nextInt(PROCESSES));
        }
        for (int i = 0; i < PROCESSES; i++) {
            while (history.processes.get(i).isLost && !history.processes.get(i).call.equals("release")) {
                history.step(i);
            }
        }
        return history.lines;
    }

    private void step(int place) {
        nowNs += GAP_NS + random.nextInt(40);
        holders.removeIf(holder -> holder.untilNs <= nowNs);
        Process process = processes.get(place);
        if (!process.isLost && random.nextInt(KILLED_ONE_IN) == 0) {
            // The lease, if any, ends with its validity. Only a release shows that a lease was lost.
            processes.set(place, new Process(processCount++));
        } else if (process.isLeased && random.nextInt(LOST_ONE_IN) == 0) {
            process.isLost = holders.remove(process) || process.isLost;
        } else if (process.call.equals(NONE)) {
            start(process);
        } else if (process.type.equals(NONE)) {
            takeEffect(process);
        } else {
            end(process);
        }
    }

    private void start(Process process) {
        process.callNs = nowNs;
        if (!process.isLeased) {
            process.kind = List.of("plain", "writer", "reader").get(random.nextInt(3));
            process.token = 0;
            process.call = "acquire";
        } else if (process.isLost) {
            process.call = "release";
        } else {
            List<String> calls = process.isReader()
                    ? List.of("extend", "release", "read")
                    : List.of("extend", "release", "read", "write", "write");
            process.call = calls.get(random.nextInt(calls.size()));
        }
        note(process);
        // A lease that is over counts up to the time at which its holder last saw it.
        long leaveNs = holders.contains(process) ? nowNs : process.heldNs;
        line(process, "invoke", process.call.equals("write") ? process.token : 0,
                process.call.equals("release") ? leaveNs : 0);
    }

    private void note(Process process) {
        if (holders.contains(process)) {
            process.heldNs = nowNs;
        }
    }

    private void takeEffect(Process process) {
        boolean isHolder = holders.contains(process);
        switch (process.call) {
            case "acquire" -> acquire(process);
            case "extend" -> {
                process.type = isHolder ? "ok" : "fail";
                process.untilNs = isHolder ? Math.max(process.untilNs, nowNs + ttlNs()) : process.untilNs;
            }
            case "release" -> {
                holders.remove(process);
                process.type = isHolder ? random.nextInt(8) == 0 ? "info" : "ok" : "fail";
            }
            case "write" -> {
                process.type = process.token >= register ? "ok" : "fail";
                register = Math.max(register, process.token);
            }
            default -> {
                process.type = "ok";
                process.read = register;
            }
        }
    }

    private void acquire(Process process) {
        boolean isFree = process.isReader() ? holders.stream().allMatch(Process::isReader) : holders.isEmpty();
        if (isFree) {
            process.type = "ok";
            process.untilNs = nowNs + ttlNs();
            if (!process.isReader()) {
                granted += 1 + random.nextInt(3);
                process.token = granted;
            }
            holders.add(process);
        } else if (random.nextInt(10) == 0) {
            process.type = "fail";
        }
    }

    private long ttlNs() {
        return 200 + random.nextInt(1500);
    }

    private void end(Process process) {
        boolean isOk = process.type.equals("ok");
        long untilNs = process.untilNs > nowNs ? process.untilNs : process.callNs;
        switch (process.call) {
            case "acquire" -> {
                process.isLeased = isOk;
                process.heldNs = process.callNs;
                line(process, process.type, process.token, isOk ? untilNs : 0);
            }
            case "extend" -> line(process, process.type, 0, isOk ? untilNs : 0);
            case "release" -> {
                process.isLeased = false;
                process.isLost = false;
                line(process, process.type, 0, 0);
            }
            case "write" -> line(process, process.type, process.token, 0);
            default -> line(process, process.type, process.read, 0);
        }
        note(process);
        process.call = NONE;
        process.type = NONE;
    }

    private void line(Process process, String type, long token, long untilNs) {
        lines.add(nowNs + " " + process.number + " " + type + " " + process.call + " a " + process.kind + " " + token
                + " " + untilNs + " -");
    }
}

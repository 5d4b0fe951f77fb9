package dev.redlock.sim;

import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.TestEngine;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The operations of all workers of a run, in the format of the history of a chaos run. Each resource has a register
 * that rejects tokens lower than its value.
 */
final class SimHistory {
    private final VirtualWorld world;
    private final List<String> lines = new ArrayList<>();
    private final Map<String, Long> registers = new HashMap<>();
    private int processCount;

    SimHistory(VirtualWorld world) {
        this.world = world;
    }

    /** The lines of a run. */
    List<String> lines() {
        return lines;
    }

    /** The operations of one worker. */
    Process newProcess() {
        return new Process(processCount++);
    }

    /** One worker: its calls and their ends. */
    final class Process {
        private final int number;
        private List<String> resources = List.of();
        private String kind = "plain";
        private long token;
        private long callNs;
        /** The last time at which the holder has found its lease held. */
        private long heldNs;

        Process(int number) {
            this.number = number;
        }

        void acquire(List<String> names, String whichKind) {
            resources = names;
            kind = whichKind;
            token = 0;
            call("acquire", 0);
        }

        void notAcquired() {
            end("fail", "acquire", 0);
        }

        void acquired(Lease lease, long fence, long untilNs) {
            token = fence;
            long nowNs = world.nowNs();
            heldNs = lease.isHeld() ? nowNs : callNs;
            end("ok", "acquire", untilNs - nowNs > 0 ? untilNs : callNs);
            useRegisters();
        }

        void extend() {
            call("extend", 0);
        }

        void extended(Lease lease, ExtendOutcome outcome) {
            boolean isExtended = outcome == ExtendOutcome.EXTENDED;
            boolean isHeld = lease.isHeld();
            long endedNs = isExtended ? callNs : 0;
            heldNs = isHeld ? world.nowNs() : heldNs;
            end(isExtended ? "ok" : "fail", "extend", isHeld ? TestEngine.validUntilNs(lease) : endedNs);
        }

        /** The write may come after the validity. */
        void release(Lease lease) {
            useRegisters();
            call("release", lease.state() == LeaseState.LOST ? heldNs : world.nowNs());
        }

        void released(ReleaseOutcome outcome) {
            end(outcome == ReleaseOutcome.RELEASED ? "ok" : outcome == ReleaseOutcome.EXPIRED ? "fail" : "info",
                    "release", 0);
        }

        private void useRegisters() {
            for (String resource : token == 0 ? List.<String>of() : resources) {
                boolean isAccepted = isAccepted(resource, token);
                line("invoke", "write", resource, token, 0);
                line(isAccepted ? "ok" : "fail", "write", resource, token, 0);
                line("invoke", "read", resource, 0, 0);
                line("ok", "read", resource, registers.get(resource), 0);
            }
        }

        private void call(String operation, long untilNs) {
            callNs = world.nowNs();
            line("invoke", operation, String.join(",", resources), token, untilNs);
        }

        private void end(String type, String operation, long untilNs) {
            line(type, operation, String.join(",", resources), token, untilNs);
        }

        private void line(String type, String operation, String names, long value, long untilNs) {
            lines.add(world.nowNs() + " " + number + " " + type + " " + operation + " " + names + " " + kind + " "
                    + value + " " + untilNs + " -");
        }
    }

    private boolean isAccepted(String resource, long token) {
        long now = registers.getOrDefault(resource, 0L);
        if (token >= now) {
            registers.put(resource, token);
            return true;
        }
        return false;
    }
}

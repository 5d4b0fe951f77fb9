package dev.redlock.sim;

import java.util.Arrays;

/**
 * The owners of one resource where clusters vote: a node of the specification is a single server, or a cluster of which
 * one server owns the resource.
 */
final class StepOwners {
    static final int NONE = -1;

    final String resource;
    /** For each server, its node. */
    private final int[] nodes;
    /** For each node, the owner, the one before that still serves, and the server that the resource moves to. */
    private final int[] owners;
    private final int[] formers;
    private final int[] targets;

    StepOwners(String resource, int[] nodes, int[] owners) {
        this.resource = resource;
        this.nodes = nodes;
        this.owners = owners;
        this.formers = none(owners.length);
        this.targets = none(owners.length);
    }

    private static int[] none(int count) {
        int[] all = new int[count];
        Arrays.fill(all, NONE);
        return all;
    }

    int nodeOf(int server) {
        return nodes[server];
    }

    /** Also the server to which it moves, which executes what is asked there by way of the owner. */
    boolean isOwner(int server) {
        return owners[nodes[server]] == server || targets[nodes[server]] == server;
    }

    boolean isFormer(int server) {
        return formers[nodes[server]] == server;
    }

    void onMove(int target) {
        targets[nodes[target]] = target;
    }

    /** @param former who serves until {@link #onFormerEnd}, or {@link #NONE} */
    void onChange(int owner, int former) {
        owners[nodes[owner]] = owner;
        formers[nodes[owner]] = former;
        targets[nodes[owner]] = NONE;
    }

    void onFormerEnd(int former) {
        formers[nodes[former]] = NONE;
    }
}

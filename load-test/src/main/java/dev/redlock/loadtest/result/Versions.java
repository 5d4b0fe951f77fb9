package dev.redlock.loadtest.result;

import java.util.List;
import java.util.Map;

/**
 * The versions of everything involved in a run.
 *
 * @param drivers of each client, by driver name
 * @param servers product and version of each node, in order; "unknown" for a node that did not reply
 * @threading immutable
 */
public record Versions(String program, String java, String netty, Map<String, String> drivers, List<String> servers) {
}

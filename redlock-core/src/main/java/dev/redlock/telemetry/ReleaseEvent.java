package dev.redlock.telemetry;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;

/**
 * The release of a held lease, from its start on the event loop to its outcome. The engine keeps one object for each
 * pooled claim and uses it again.
 *
 * @threading event-loop-confined
 */
@Name("dev.redlock.Release")
@Label("Redlock Release")
@Category({"Redlock"})
@Description("The release of a held lease, from its start on the event loop to its outcome")
@Enabled(false)
@Threshold("1 ms")
@StackTrace(false)
public final class ReleaseEvent extends Event {

    @Label("Resource")
    public String resource;

    @Label("Outcome")
    public String outcome;

    @Label("Deleted")
    @Description("Nodes that deleted the key until the outcome was decided")
    public int deleted;

    @Label("Not Held")
    @Description("Nodes whose key was missing or had another token")
    public int notHeld;

    @Label("Failed")
    @Description("Nodes that certainly did not execute the command")
    public int failed;

    @Label("Unknown")
    @Description("Nodes that did not answer")
    public int unknown;
}

package dev.redlock.telemetry;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;
import jdk.jfr.Timespan;

/**
 * One acquisition, from the call's arrival on the event loop to its outcome. The engine keeps one object for each
 * pooled acquisition and uses it again.
 *
 * @threading event-loop-confined
 */
@Name("dev.redlock.Acquire")
@Label("Redlock Acquire")
@Category({"Redlock"})
@Description("One acquisition, from the call's arrival on the event loop to its outcome")
@Enabled(false)
@Threshold("1 ms")
@StackTrace(false)
public final class AcquireEvent extends Event {

    @Label("Resource")
    public String resource;

    @Label("Outcome")
    public String outcome;

    @Label("Last Reason")
    @Description("Why the last attempt failed")
    public String lastReason;

    @Label("Attempts")
    public int attempts;

    @Label("Granted")
    @Description("Granted votes of the last attempt until it was decided")
    public int granted;

    @Label("Refused")
    @Description("Votes of nodes that hold another token")
    public int refused;

    @Label("Failed")
    @Description("Nodes that certainly did not execute the command")
    public int failed;

    @Label("Unknown")
    @Description("Nodes that did not answer")
    public int unknown;

    @Label("Fenced")
    public boolean fenced;

    @Label("Validity")
    @Description("Validity at the moment of the grant")
    @Timespan(Timespan.NANOSECONDS)
    public long validity;
}

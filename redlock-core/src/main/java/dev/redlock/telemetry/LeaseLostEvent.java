package dev.redlock.telemetry;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/**
 * A lease that ended without a release.
 *
 * @threading event-loop-confined
 */
@Name("dev.redlock.LeaseLost")
@Label("Redlock Lease Lost")
@Category({"Redlock"})
@Description("A lease that was lost or expired before its release")
@Enabled(false)
@StackTrace(false)
public final class LeaseLostEvent extends Event {

    @Label("Resource")
    public String resource;

    @Label("State")
    @Description("LOST or EXPIRED")
    public String state;

    @Label("Reason")
    public String reason;

    @Label("Node")
    @Description("Address of the node whose proof ended the lease, if there is one")
    public String node;

    @Label("Held For")
    @Timespan(Timespan.NANOSECONDS)
    public long heldFor;
}

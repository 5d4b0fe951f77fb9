package dev.redlock.telemetry;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/**
 * A lock that the client retains no longer.
 *
 * @threading event-loop-confined
 */
@Name("dev.redlock.RetentionEnded")
@Label("Redlock Retention Ended")
@Category({"Redlock"})
@Description("A lock that a client retains no longer")
@Enabled(false)
@StackTrace(false)
public final class RetentionEndedEvent extends Event {

    @Label("Resource")
    public String resource;

    @Label("Cause")
    @Description("REVOKED, WANTED_LOCALLY, EXPIRED, NODE_LOST, LIMIT or CLOSED")
    public String cause;

    @Label("Local Grants")
    public long localGrants;
}

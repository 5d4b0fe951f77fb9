package dev.redlock.telemetry;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/**
 * A push of a node, or a waiting acquisition that tries again without one.
 *
 * @threading event-loop-confined
 */
@Name("dev.redlock.Wakeup")
@Label("Redlock Wakeup")
@Category({"Redlock"})
@Description("A push of a node, or a waiting acquisition that tries again because no push came")
@Enabled(false)
@StackTrace(false)
public final class WakeupEvent extends Event {

    @Label("Resource")
    @Description("Absent for a push about a lock that nobody waits for")
    public String resource;

    @Label("Node")
    @Description("Address of the node that sent the push")
    public String node;

    @Label("Kind")
    @Description("WOKEN, SPURIOUS or BACKSTOP")
    public String kind;
}

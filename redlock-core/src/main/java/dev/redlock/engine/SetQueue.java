package dev.redlock.engine;

/**
 * The local queue of a set of resources: what the last refusal has said, and its order among the other sets of this
 * client ({@link SetOrder}).
 *
 * @threading event-loop-confined
 */
final class SetQueue extends WaitQueue {

    private final Order order;
    /** The resource in use that has refused the head: its pushes alone wake it. Null if unknown. */
    private ResourceQueues.Entry awaited;
    /** The position at the last refusal. */
    private int position;

    /**
     * Its order among the other sets of its client.
     *
     * @threading event-loop-confined
     */
    interface Order {

        /** The next waiter of a set is younger than those of other sets. */
        void moveToEnd(SetQueue queue);

        /** A set makes no attempt for now. */
        void passOn(SetQueue queue);

        /** Whether another set of this client waits for a resource of a set. */
        boolean isOverlapping(SetQueue queue);
    }

    SetQueue(Order order) {
        this.order = order;
    }

    @Override
    void onCreated() {
        position = Ticket.FIRST_POSITION;
        awaited = null;
    }

    @Override
    void onServed() {
        order.moveToEnd(this);
    }

    @Override
    void passOn() {
        order.passOn(this);
    }

    @Override
    boolean isOverlapping() {
        return order.isOverlapping(this);
    }

    @Override
    int position() {
        return position;
    }

    /** What the last refusal has said does not count any more. */
    @Override
    void forgetRefusal() {
        awaited = null;
    }

    /** A grant has used the ticket. */
    @Override
    void onTicketUsed() {
        position = Ticket.FIRST_POSITION;
    }

    /** The coordinator has refused the head, by a reply with the resource and the position. */
    void onRefused(long value) {
        int number = Ticket.resourceOf(value);
        boolean isKnown = number > 0 && number <= resources.size();
        awaited = isKnown ? resources.get(number - 1) : null;
        position = Ticket.positionOf(value);
        if (isKnown && awaited.ticket == Ticket.NONE) {
            awaited.ticket = Ticket.ofSet(value);
        } else if (isKnown && awaited.ticket != Ticket.ofSet(value)) {
            // Another set of this client was refused meanwhile, and got an earlier ticket.
            position = Ticket.FIRST_POSITION;
        }
    }

    @Override
    boolean awaits(ResourceQueues.Entry entry) {
        return awaited == entry && isAwaiting();
    }

    @Override
    boolean awaitsOther(ResourceQueues.Entry entry) {
        return awaited != null && awaited != entry && isAwaiting();
    }

    private boolean isAwaiting() {
        return registeredMask != 0 && isHeadBackingOff();
    }
}

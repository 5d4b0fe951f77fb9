package org.example;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.core.Response;
import java.time.Duration;

@Path("/orders")
class Orders {
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(10)).autoExtend();

    private final Redlock redlock;
    private final Shipping shipping;

    Orders(Redlock redlock, Shipping shipping) {
        this.redlock = redlock;
        this.shipping = shipping;
    }

    @POST
    @Path("/{id}/shipment")
    public Response ship(String id) throws InterruptedException {
        var outcome = redlock.tryRun("orders/" + id, OPTIONS, lease -> shipping.ship(id));
        return (outcome.isAcquired() ? Response.noContent() : Response.status(409, outcome.kind().name())).build();
    }
}

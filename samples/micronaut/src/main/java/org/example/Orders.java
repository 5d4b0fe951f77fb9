package org.example;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import java.time.Duration;

@Controller("/orders")
class Orders {
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(10)).autoExtend();

    private final Redlock redlock;
    private final Shipping shipping;

    Orders(Redlock redlock, Shipping shipping) {
        this.redlock = redlock;
        this.shipping = shipping;
    }

    @Post("/{id}/shipment")
    @ExecuteOn(TaskExecutors.BLOCKING)
    HttpResponse<?> ship(String id) throws InterruptedException {
        var outcome = redlock.tryRun("orders/" + id, OPTIONS, lease -> shipping.ship(id));
        return outcome.isAcquired() ? HttpResponse.noContent() : HttpResponse.status(409, outcome.kind().name());
    }
}

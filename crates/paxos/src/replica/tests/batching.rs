//! How requests become batches, and get to the leader.

use super::*;

#[test]
fn requests_of_every_replica_are_delivered_everywhere_in_the_order_of_their_origin() {
    let mut cluster = Cluster::led(3, 1, |_| {});
    for round in 0..50 {
        for id in 0..4 {
            cluster.submit(id, chunk(id as u64, 1, round * 7..round * 7 + 7));
        }
        cluster.run(MS);
    }
    cluster.run(100 * MS);
    for id in 0..4 {
        let requests = cluster.requests(id);
        assert_eq!(requests, cluster.requests(0));
        for origin in 0..4 {
            let own: Vec<_> = requests.iter().filter(|request| request.0 == origin).map(|request| request.1).collect();
            assert_eq!(own, (0..350).collect::<Vec<_>>(), "in order, each once");
        }
    }
}

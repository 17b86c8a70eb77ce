//! What SQL shows of the cluster: `seriatim_cluster`.

use super::file::ClusterFile;
use super::order::{Order, node_of};
use ::cluster::{Cluster, Status};
use sql::database::Member;
use std::fmt;
use std::sync::Arc;
use total::Position;

/// What SQL shows of the cluster.
pub struct View {
    pub file: ClusterFile,
    pub node: u64,
    pub order: Order,
    pub cluster: Arc<Cluster>,
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View(node {} of {})", self.node, self.file.name)
    }
}

fn place(at: Position) -> String {
    format!("{}.{}", at.instance, at.index)
}

impl View {
    fn own(&self, member: Member, status: &Status) -> Member {
        Member {
            is_self: true,
            part: self.order.part().map(str::to_owned),
            state: Some(status.doing.to_string()),
            applied: Some(place(status.applied)),
            known: Some(place(status.known)),
            lag: Some(status.known.instance.saturating_sub(status.applied.instance)),
            problem: status.failure.clone().or_else(|| self.order.lacks()),
            ..member
        }
    }

    fn other(&self, member: Member) -> Member {
        let peer = self.order.peer(member.node);
        let leads = self.order.leader() == Some(member.node);
        Member {
            part: leads.then(|| "leader".to_owned()),
            is_connected: peer.as_ref().map(|peer| peer.is_connected),
            problem: peer.and_then(|peer| peer.problem),
            ..member
        }
    }
}

impl sql::database::Cluster for View {
    fn members(&self) -> Vec<Member> {
        let status = self.cluster.status();
        let member = |(node, described): (u64, &super::file::Node)| {
            let delivered = status.members.iter().filter(|member| node_of(member.origin.node) == node);
            let delivered = delivered.map(|member| member.last).max();
            let address = described.order.as_ref().unwrap_or(&described.state).clone();
            let (on_disk, disk_lag) = self.order.on_disk(node).unzip();
            let delivered = delivered.map(place);
            let member = Member { node, address: Some(address), delivered, on_disk, disk_lag, ..Member::default() };
            if node == self.node { self.own(member, &status) } else { self.other(member) }
        };
        (0..).zip(&self.file.nodes).map(member).collect()
    }

    fn aborts(&self) -> Vec<(String, u64)> {
        self.cluster.status().aborts.into_iter().map(|(rule, aborts)| (rule.to_owned(), aborts)).collect()
    }
}

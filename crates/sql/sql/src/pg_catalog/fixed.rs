//! Functions, operators and what belongs to them, as far as they do not change: mostly rows of [`super::seed`].

use super::layout::{columns, tables};
use super::seed;
use crate::catalog::VirtualTable;

pub(super) static TABLES: &[VirtualTable] = tables! { "pg_catalog", Fixed:
    2600 pg_aggregate = super::procedures::aggregates; {
        aggfnoid: Regproc, aggkind: Char, aggnumdirectargs: Int2, aggtransfn: Regproc, aggfinalfn: Regproc,
        aggcombinefn: Regproc, aggserialfn: Regproc, aggdeserialfn: Regproc, aggmtransfn: Regproc,
        aggminvtransfn: Regproc, aggmfinalfn: Regproc, aggfinalextra: Bool, aggmfinalextra: Bool,
        aggfinalmodify: Char, aggmfinalmodify: Char, aggsortop: Oid, aggtranstype: Oid, aggtransspace: Int4,
        aggmtranstype: Oid, aggmtransspace: Int4, agginitval: Text, aggminitval: Text
    }
    2601 pg_am = || seed::rows("pg_am").to_vec(); {
        oid: Oid, amname: Name, amhandler: Regproc, amtype: Char
    }
    2602 pg_amop = || seed::rows("pg_amop").to_vec(); {
        oid: Oid, amopfamily: Oid, amoplefttype: Oid, amoprighttype: Oid, amopstrategy: Int2, amoppurpose: Char,
        amopopr: Oid, amopmethod: Oid, amopsortfamily: Oid
    }
    2603 pg_amproc = || seed::rows("pg_amproc").to_vec(); {
        oid: Oid, amprocfamily: Oid, amproclefttype: Oid, amprocrighttype: Oid, amprocnum: Int2, amproc: Regproc
    }
    2605 pg_cast = || seed::rows("pg_cast").to_vec(); {
        oid: Oid, castsource: Oid, casttarget: Oid, castfunc: Oid, castcontext: Char, castmethod: Char
    }
    3456 pg_collation = || seed::rows("pg_collation").to_vec(); {
        oid: Oid, collname: Name, collnamespace: Oid, collowner: Oid, collprovider: Char,
        collisdeterministic: Bool, collencoding: Int4, collcollate: Text, collctype: Text, colliculocale: Text,
        collversion: Text
    }
    2612 pg_language = || seed::rows("pg_language").to_vec(); {
        oid: Oid, lanname: Name, lanowner: Oid, lanispl: Bool, lanpltrusted: Bool, lanplcallfoid: Oid,
        laninline: Oid, lanvalidator: Oid, lanacl: [AclItem]
    }
    2616 pg_opclass = || seed::rows("pg_opclass").to_vec(); {
        oid: Oid, opcmethod: Oid, opcname: Name, opcnamespace: Oid, opcowner: Oid, opcfamily: Oid,
        opcintype: Oid, opcdefault: Bool, opckeytype: Oid
    }
    2617 pg_operator = super::procedures::operators; {
        oid: Oid, oprname: Name, oprnamespace: Oid, oprowner: Oid, oprkind: Char, oprcanmerge: Bool,
        oprcanhash: Bool, oprleft: Oid, oprright: Oid, oprresult: Oid, oprcom: Oid, oprnegate: Oid,
        oprcode: Regproc, oprrest: Regproc, oprjoin: Regproc
    }
    2753 pg_opfamily = || seed::rows("pg_opfamily").to_vec(); {
        oid: Oid, opfmethod: Oid, opfname: Name, opfnamespace: Oid, opfowner: Oid
    }
    1213 pg_tablespace = || seed::rows("pg_tablespace").to_vec(); {
        oid: Oid, spcname: Name, spcowner: Oid, spcacl: [AclItem], spcoptions: [Text]
    }
    1255 pg_proc = super::procedures::procedures; {
        oid: Oid, proname: Name, pronamespace: Oid, proowner: Oid, prolang: Oid, procost: Float4,
        prorows: Float4, provariadic: Oid, prosupport: Regproc, prokind: Char, prosecdef: Bool,
        proleakproof: Bool, proisstrict: Bool, proretset: Bool, provolatile: Char, proparallel: Char,
        pronargs: Int2, pronargdefaults: Int2, prorettype: Oid, proargtypes: OidVector, proallargtypes: [Oid],
        proargmodes: [Char], proargnames: [Text], proargdefaults: PgNodeTree, protrftypes: [Oid], prosrc: Text,
        probin: Text, prosqlbody: PgNodeTree, proconfig: [Text], proacl: [AclItem]
    }
};

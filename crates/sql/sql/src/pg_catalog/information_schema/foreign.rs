//! Foreign data, of which there is none.

use crate::catalog::VirtualTable;
use crate::pg_catalog::layout::{columns, nothing, tables};

pub(in crate::pg_catalog) static TABLES: &[VirtualTable] = tables! { "information_schema", Fixed:
    13503 column_options = nothing; {
        table_catalog: Name, table_schema: Name, table_name: Name, column_name: Name, option_name: Name,
        option_value: Varchar
    }
    13511 foreign_data_wrapper_options = nothing; {
        foreign_data_wrapper_catalog: Name, foreign_data_wrapper_name: Name, option_name: Name,
        option_value: Varchar
    }
    13515 foreign_data_wrappers = nothing; {
        foreign_data_wrapper_catalog: Name, foreign_data_wrapper_name: Name, authorization_identifier:
        Name, library_name: Varchar, foreign_data_wrapper_language: Varchar
    }
    13524 foreign_server_options = nothing; {
        foreign_server_catalog: Name, foreign_server_name: Name, option_name: Name, option_value:
        Varchar
    }
    13528 foreign_servers = nothing; {
        foreign_server_catalog: Name, foreign_server_name: Name, foreign_data_wrapper_catalog: Name,
        foreign_data_wrapper_name: Name, foreign_server_type: Varchar, foreign_server_version: Varchar,
        authorization_identifier: Name
    }
    13537 foreign_table_options = nothing; {
        foreign_table_catalog: Name, foreign_table_schema: Name, foreign_table_name: Name, option_name:
        Name, option_value: Varchar
    }
    13541 foreign_tables = nothing; {
        foreign_table_catalog: Name, foreign_table_schema: Name, foreign_table_name: Name,
        foreign_server_catalog: Name, foreign_server_name: Name
    }
    13550 user_mapping_options = nothing; {
        authorization_identifier: Name, foreign_server_catalog: Name, foreign_server_name: Name,
        option_name: Name, option_value: Varchar
    }
    13555 user_mappings = nothing; {
        authorization_identifier: Name, foreign_server_catalog: Name, foreign_server_name: Name
    }
};

)"i-1(2
	ntrace.pb:
cpu€ HRA
ntrace_inspect_type"nrt_dma_mem_allocnc_exec_runningR<
system_traceinvalid_interned_stringM/a/model.neffX„`¨Fj	192.0.2.1pztrn3.3xlarge€Šhost’

us-1